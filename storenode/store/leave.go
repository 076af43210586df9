package store

import (
	"errors"
	"maps"
	"slices"

	"github.com/phalanx-go/phalanx"
)

// Leave has this node refuse new work from now on: Puts, places of a reduce, Reduces, and
// copies that it is to keep. When Leave has returned, Runs and Targets tell of all work that
// began before.
func (e *Env) Leave() { e.leaves.Store(true) }

// Stay has this node take all work again, since it could not leave.
func (e *Env) Stay() { e.leaves.Store(false) }

// Leaves reports whether the node refuses new work.
func (e *Env) Leaves() bool { return e.leaves.Load() }

// Leaving returns the error of calls that a leaving node refuses or gives up.
func (e *Env) Leaving() *phalanx.Error {
	return &phalanx.Error{Node: e.Self, Kind: phalanx.ErrClosed, Err: errors.New("this node is leaving the cluster")}
}

// Runs returns the objects of the Puts that run here, and the other objects that this node
// makes and that are not final yet.
func (e *Env) Runs() (puts, making []phalanx.ObjectID) {
	e.active.mu.Lock()
	puts = e.active.puts.Objects()
	e.active.mu.Unlock()
	return puts, e.Table.making(puts)
}

// GiveUp ends the Puts that run. Their callers are told that the node leaves.
func (e *Env) GiveUp() {
	e.active.mu.Lock()
	defer e.active.mu.Unlock()
	for pid := range e.active.puts.All() {
		e.send(pid, putFailed{e.Leaving()})
	}
}

// givenUp tells a place that its node wants to leave.
type givenUp struct{}

// Targets returns the target of each place that runs here, in order.
func (h *Places) Targets() []phalanx.ObjectID {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []phalanx.ObjectID
	for key := range h.actors {
		out = append(out, key.Target)
	}
	slices.Sort(out)
	return out
}

// GiveUp ends the places that coordinators can replace.
func (h *Places) GiveUp() {
	h.mu.Lock()
	pids := slices.Collect(maps.Values(h.actors))
	h.mu.Unlock()
	for _, pid := range pids {
		h.env.send(pid, givenUp{})
	}
}
