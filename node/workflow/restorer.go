package workflow

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/agenda"
	"github.com/phalanx-go/phalanx/protocol/retry"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// Restorer has objects put again of which only checkpoints are left, for the attempts and the clients of this node. It asks
// the members one after the other. A member that is silent, or takes long, holds nothing up: the next one is asked as
// well. A member that has not answered is asked again.
type Restorer struct {
	now     time.Duration
	out     []RestorerEffect
	members []phalanx.NodeID
	wishes  map[uint64]*wish
	due     agenda.Agenda[*wish]
}

// wish is an object that somebody waits for.
type wish struct {
	Wish
	next   []phalanx.NodeID // are yet to be asked
	silent []phalanx.NodeID // were asked, and have not answered
	sent   retry.Backoff
	why    []string
}

// restoreAgain are the pauses after which the next member is asked, or the silent ones once more.
var restoreAgain = retry.Pauses{First: time.Second, Most: 10 * time.Second}

// RestorerEvent is what a Restorer hears.
type RestorerEvent interface{ restorerEvent() }

type (
	// Wish asks for an object. It ends with Granted, or with Unwished. The host gives each another number.
	Wish struct {
		Number uint64
		Blob   core.Blob
		Object phalanx.ObjectID
	}
	// Unwished says that nobody waits for it any more.
	Unwished struct{ Number uint64 }
	// Answered brings the answer of a member.
	Answered struct {
		From     phalanx.NodeID
		Restored Restored
	}
)

func (Wish) restorerEvent()     {}
func (Unwished) restorerEvent() {}
func (Answered) restorerEvent() {}
func (Around) restorerEvent()   {}
func (Tick) restorerEvent()     {}

// RestorerEffect is what the host of a Restorer must do.
type RestorerEffect interface{ restorerEffect() }

type (
	// AskFor sends a Restore to a member.
	AskFor struct {
		To      phalanx.NodeID
		Restore Restore
	}
	// Granted ends a Wish. Err is nil, or an ErrLost that says what each member has answered.
	Granted struct {
		Number uint64
		Err    error
	}
)

func (AskFor) restorerEffect()  {}
func (Granted) restorerEffect() {}

// NewRestorer returns the Restorer of a node.
func NewRestorer() *Restorer { return &Restorer{wishes: map[uint64]*wish{}} }

// Due returns when the Restorer has to hear of the time; false: it need not.
func (r *Restorer) Due() (at time.Duration, ok bool) { return r.due.Due() }

// Step takes an event and returns what the host must do, in that order.
func (r *Restorer) Step(now time.Duration, ev RestorerEvent) []RestorerEffect {
	r.now = max(r.now, now)
	switch ev := ev.(type) {
	case Wish:
		w := &wish{Wish: ev, next: slices.Clone(r.members)}
		r.wishes[ev.Number] = w
		r.ask(w)
	case Unwished:
		if w := r.wishes[ev.Number]; w != nil {
			r.forget(w)
		}
	case Answered:
		r.answered(ev)
	case Around:
		r.around(ev.Nodes)
	}
	for {
		w, ok := r.due.Take(r.now)
		if !ok {
			break
		}
		r.ask(w)
	}
	out := r.out
	r.out = nil
	return out
}

// ask asks the next member, or if all were asked those that are silent.
func (r *Restorer) ask(w *wish) {
	to := w.silent
	if len(w.next) > 0 {
		to, w.next = w.next[:1:1], w.next[1:]
		w.silent = append(w.silent, to[0])
	}
	if len(to) == 0 {
		r.grant(w, &phalanx.Error{Op: "workflow", Object: w.Object, Kind: phalanx.ErrLost,
			Err: errors.New(strings.Join(append([]string{"no node has it or its checkpoint any more"}, w.why...), "; "))})
		return
	}
	for _, n := range to {
		r.out = append(r.out, AskFor{To: n, Restore: Restore(w.Wish)})
	}
	w.sent.Sent(r.now)
	r.due.Set(w, w.sent.At(restoreAgain))
}

func (r *Restorer) answered(ev Answered) {
	w := r.wishes[ev.Restored.Number]
	switch {
	case w == nil:
	case ev.Restored.Done:
		r.grant(w, nil)
	case slices.Contains(w.silent, ev.From):
		if ev.Restored.Failed != "" {
			w.why = append(w.why, fmt.Sprintf("node %s: %s", ev.From, ev.Restored.Failed))
		}
		r.without(w, ev.From)
	}
}

// around takes a view: members that have left answer nothing.
func (r *Restorer) around(members []phalanx.NodeID) {
	r.members = members
	for _, number := range slices.Sorted(maps.Keys(r.wishes)) {
		w := r.wishes[number]
		w.next = slices.DeleteFunc(w.next, func(n phalanx.NodeID) bool { return !slices.Contains(members, n) })
		for _, n := range slices.Clone(w.silent) {
			if !slices.Contains(members, n) && r.wishes[number] == w {
				w.why = append(w.why, fmt.Sprintf("node %s has left", n))
				r.without(w, n)
			}
		}
	}
}

// without goes on without a member that does not have the checkpoint.
func (r *Restorer) without(w *wish, n phalanx.NodeID) {
	w.silent = slices.DeleteFunc(w.silent, func(m phalanx.NodeID) bool { return m == n })
	if len(w.next) > 0 || len(w.silent) == 0 {
		w.sent.Answered()
		r.ask(w)
	}
}

func (r *Restorer) grant(w *wish, err error) {
	r.forget(w)
	r.out = append(r.out, Granted{Number: w.Number, Err: err})
}

func (r *Restorer) forget(w *wish) {
	r.due.Cancel(w)
	delete(r.wishes, w.Number)
}
