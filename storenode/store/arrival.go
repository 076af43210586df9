package store

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/owner"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode"
)

// arrival is an object on its way here, with the calls that wait for it. The store itself
// looks the object up, since a small one comes with the answer. A fetch actor goes on from
// any other answer.
type arrival struct {
	object phalanx.ObjectID
	pid    *actor.PID // of the fetch; nil: there is none yet. Written with registry.mu held
	num    uint64     // the first of its request numbers, that of the look-up
	first  *call      // the store looked the object up for this call
	room   int64      // of the budget, until there is a fetch

	locating atomic.Bool // a Locate is not answered yet, as far as the fetch has heard
	unlisted atomic.Bool // the owner was told meanwhile that this node has no copy

	mu    sync.Mutex
	calls map[uint64]*call
}

// lookedUp brings the answer to the look-up of an arrival.
type lookedUp struct {
	*arrival
	answered
}

// unanswered tells that the owner has not answered the look-up.
type unanswered struct {
	*arrival
	silent
}

func (a *arrival) add(c *call) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls[c.id] = c
}

// pins reports whether a call waits for a copy that is to stay.
func (a *arrival) pins() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.calls {
		if !c.pin.IsZero() {
			return true
		}
	}
	return false
}

func (a *arrival) remove(id uint64) *call {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.calls[id]
	delete(a.calls, id)
	return c
}

// waiting returns all calls; the call of the look-up comes first.
func (a *arrival) waiting() []*call {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make([]*call, 0, len(a.calls))
	for _, c := range a.calls {
		out = append(out, c)
	}
	slices.SortFunc(out, func(x, y *call) int { return cmp.Compare(x.id, y.id) })
	if i := slices.Index(out, a.first); i > 0 {
		out[0], out[i] = out[i], out[0]
	}
	return out
}

// take removes all calls and returns them.
func (a *arrival) take() []*call {
	out := a.waiting()
	for _, c := range out {
		a.remove(c.id)
	}
	return out
}

// abandon ends an arrival of which there is no fetch. It needs registry.mu.
func (e *Env) abandon(a *arrival) {
	delete(e.active.fetches, a.object)
	e.Pool.Budget().Release(a.room)
	a.room = 0
	e.Directory.Forget(a.num)
}

// lookUp asks the owner for an object that no other call here waits for.
func (s *Store) lookUp(cl *call) {
	env := s.env
	a := &arrival{object: cl.object, num: env.Directory.Nums(numsPerActor), first: cl, calls: map[uint64]*call{cl.id: cl}}
	a.locating.Store(true)
	if env.Pool.Budget().TryReserve(firstRoom) {
		a.room = firstRoom
	}
	locate := directory.Locate{Room: a.room, Wait: cl.wait, Down: env.down.known(env.Now())}
	env.active.mu.Lock()
	if env.active.fetches == nil {
		env.active.fetches = map[phalanx.ObjectID]*arrival{}
	}
	env.active.fetches[cl.object] = a
	env.active.mu.Unlock()
	env.Directory.Request(a.object, a.num, locate, func(from phalanx.NodeID, r directory.Result) {
		env.send(env.StorePID, lookedUp{a, answered{Answered: owner.Answered(a.num, from, r), smallBytes: smallOf(r)}})
	})
	env.Directory.Impatient(a.num, func(err *phalanx.Error) { env.send(env.StorePID, unanswered{a, silent{a.num, err}}) })
}

// lookedUp gives a small object to the waiting calls, if there is room for it now.
func (s *Store) lookedUp(c actor.Context, m lookedUp) {
	a, env := m.arrival, s.env
	if s.arrival(a.object) != a { // it was abandoned, or is over
		return
	}
	size := int64(len(m.bytes))
	if a.pid != nil || !m.Inline || m.Kind != 0 || size > a.room {
		s.tell(c, a, m.answered)
		return
	}
	env.Pool.Budget().Release(a.room - size)
	a.room = 0
	env.active.mu.Lock()
	delete(env.active.fetches, a.object)
	env.active.mu.Unlock()
	kept := env.keepInline(a, storenode.Info{Object: a.object, Gen: m.Gen, Meta: m.Meta, Digest: m.Digest}, m.smallBytes)
	for _, cl := range a.take() {
		env.hand(cl, kept)
	}
	env.Table.release(kept)
}

// tell sends a message to the fetch of an arrival, and starts the fetch if there is none
// yet: the fetch begins with the look-up that is under way.
func (s *Store) tell(c actor.Context, a *arrival, message any) {
	if a.pid == nil && !s.startFetch(c, a) {
		return
	}
	s.env.send(a.pid, message)
}

// abandon ends an arrival of which there is no fetch, and tells the owner so.
func (s *Store) abandon(a *arrival) {
	s.env.active.mu.Lock()
	s.env.abandon(a)
	s.env.active.mu.Unlock()
	s.env.report(a.object, directory.Cancel{Num: a.num})
}

func (s *Store) startFetch(c actor.Context, a *arrival) bool {
	env := s.env
	if s.arrival(a.object) != a { // it was abandoned
		return false
	}
	pid, err := env.Spawn(newFetch(env, a, c.Self()), fmt.Sprintf("fetch-%d", env.nums.Add(1)))
	if err != nil {
		s.abandon(a)
		for _, cl := range a.take() {
			cl.answer(nil, nil, &phalanx.Error{Node: env.Self, Kind: phalanx.ErrInternal, Err: err})
		}
		return false
	}
	env.active.mu.Lock()
	a.pid = pid
	env.active.mu.Unlock()
	c.Watch(pid)
	for _, cl := range a.waiting() {
		env.send(pid, want{cl})
	}
	return true
}

// hand gives a complete copy to a caller.
func (e *Env) hand(c *call, copy *objectCopy) {
	e.pin(c, copy)
	if c.reader {
		if r := newReader(c, e.Table, copy, nil); r != nil {
			c.answer(nil, r, nil)
			return
		}
	} else if v := e.Table.viewOf(copy); v != nil {
		c.answer(v, nil, nil)
		return
	}
	c.answer(nil, nil, &phalanx.Error{Kind: phalanx.ErrDeleted, Err: errors.New("the object was deleted while it arrived")})
}
