package keeper

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/node/ledger"
	core "github.com/phalanx-go/phalanx/protocol/ledger"
)

// tenure is the right of this node's controller to append.
type tenure struct {
	epoch   uint64
	store   durable.Store
	root    *actor.RootContext
	keeper  *actor.PID
	stalled atomic.Bool
	done    chan struct{} // closed when it has ended

	// Of the actor.
	number  uint64            // of the last append that was taken
	appends map[uint64]*asked // by number
	reads   map[uint64]*asked
	read    uint64 // the number of the last one

	mu      sync.Mutex
	ended   bool // nothing is answered any more but by finish
	turn    uint64
	waiting map[*asked]struct{} // all that were not answered
}

var _ durable.Tenure = (*tenure)(nil)

// asked is an Append, or a Confirm if rows is nil, that waits.
type asked struct {
	t    *tenure
	turn uint64 // in the order of the calls
	rows []core.Row
	done func(error)
}

func (t *tenure) Partition() int        { return 0 }
func (t *tenure) Epoch() uint64         { return t.epoch }
func (t *tenure) Stalled() bool         { return t.stalled.Load() }
func (t *tenure) Done() <-chan struct{} { return t.done }

// over reports whether it has ended.
func (t *tenure) over() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// Append implements durable.Tenure.
func (t *tenure) Append(rows []core.Row, done func(error)) {
	if rows == nil {
		rows = []core.Row{}
	}
	t.ask(&asked{t: t, rows: rows, done: done})
}

// Confirm implements durable.Tenure.
func (t *tenure) Confirm(done func(error)) { t.ask(&asked{t: t, done: done}) }

// givenUp says that the owner of a tenure cannot go on.
type givenUp struct{ t *tenure }

// GiveUp implements durable.Tenure.
func (t *tenure) GiveUp() { t.root.Send(t.keeper, givenUp{t}) }

func (t *tenure) ask(m *asked) {
	t.mu.Lock()
	ended := t.ended
	if !ended {
		t.turn++
		m.turn = t.turn
		t.waiting[m] = struct{}{}
	}
	t.mu.Unlock()
	if ended {
		go m.done(fenced(t.epoch)) // the caller may hold what done needs
		return
	}
	t.root.Send(t.keeper, m)
}

// Scan implements durable.Tenure.
func (t *tenure) Scan(prefix string, f func(core.Row) bool) error { return t.store.Scan(prefix, f) }

// Range implements durable.Tenure.
func (t *tenure) Range(key, end string, limit int, f func(core.Row) bool) error {
	return t.store.Range(key, end, limit, f)
}

// answer answers m once.
func (t *tenure) answer(m *asked, err error) {
	t.mu.Lock()
	_, waits := t.waiting[m]
	delete(t.waiting, m)
	t.mu.Unlock()
	if waits {
		m.done(err)
	}
}

// finish says that the tenure has ended. What was asked is answered still.
func (t *tenure) finish() {
	if !t.over() {
		close(t.done)
	}
}

// fence ends the tenure, and answers all that waits, in its order.
func (t *tenure) fence() {
	t.finish()
	t.mu.Lock()
	t.ended = true
	rest := slices.SortedFunc(maps.Keys(t.waiting), func(a, b *asked) int { return cmp.Compare(a.turn, b.turn) })
	t.mu.Unlock()
	for _, m := range rest {
		t.answer(m, fenced(t.epoch))
	}
}

func fenced(epoch uint64) error {
	return fmt.Errorf("%w: the tenure %d of this node's replica has ended", durable.ErrFenced, epoch)
}

// beginTenure gives the controller's host a new tenure.
func (a *instance) beginTenure(c actor.Context, epoch uint64) {
	a.endTenure()
	a.tenure = &tenure{epoch: epoch, store: a.k.settings.Store, root: a.node.System().Root, keeper: c.Self(), done: make(chan struct{}),
		appends: map[uint64]*asked{}, reads: map[uint64]*asked{}, waiting: map[*asked]struct{}{}}
}

// serve gives a tenure to the controller.
func (a *instance) serve(epoch uint64) {
	if t := a.tenure; t != nil && t.epoch == epoch {
		a.k.set(func() { a.k.tenure = t })
	}
}

// tenureEnded takes that the replica appends nothing more of a tenure.
func (a *instance) tenureEnded(epoch uint64) {
	if a.tenure != nil && a.tenure.epoch == epoch {
		a.tenure.finish()
	}
}

// endTenure ends the tenure of this instance, if there is one.
func (a *instance) endTenure() {
	if a.tenure != nil {
		a.tenure.fence()
		a.tenure = nil
	}
}

// ask gives the core what a controller asks.
func (a *instance) ask(c actor.Context, m *asked) {
	t := m.t
	if t != a.tenure {
		t.answer(m, fenced(t.epoch))
		return
	}
	if m.rows == nil {
		t.read++
		t.reads[t.read] = m
		a.step(c, ledger.ForReplica{Event: core.Read{ID: t.read}})
		return
	}
	t.number++
	t.appends[t.number] = m
	a.step(c, ledger.ForReplica{Event: core.Append{Epoch: t.epoch, Number: t.number, Rows: m.rows}})
}

func (a *instance) answerAppend(epoch, number uint64, err error) {
	t := a.tenure
	if t == nil || t.epoch != epoch || t.appends[number] == nil {
		return
	}
	m := t.appends[number]
	delete(t.appends, number)
	t.answer(m, err)
}

// refused answers an append. One that was not proposed gives its number back.
func (a *instance) refused(e core.Refused) {
	if t := a.tenure; t != nil && t.epoch == e.Epoch && e.Reason != core.Fenced && e.Number == t.number {
		t.number--
	}
	a.answerAppend(e.Epoch, e.Number, refusal(e))
}

func refusal(e core.Refused) error {
	switch e.Reason {
	case core.Busy:
		return fmt.Errorf("%w (too many bytes of appends are not on disks yet)", durable.ErrBusy)
	case core.TooLarge:
		return fmt.Errorf("%w: an append is too large", durable.ErrInvalid)
	case core.Invalid:
		return fmt.Errorf("%w: an append has no rows, or one that cannot be", durable.ErrInvalid)
	case core.OutOfOrder:
		panic(fmt.Sprintf("keeper: the append %d is out of order", e.Number))
	}
	return fenced(e.Epoch)
}

func (a *instance) answerRead(id uint64, readable bool) {
	t := a.tenure
	if t == nil || t.reads[id] == nil {
		return
	}
	m := t.reads[id]
	delete(t.reads, id)
	switch {
	case t.over():
		t.answer(m, fenced(t.epoch))
	case !readable:
		t.answer(m, fmt.Errorf("%w (too many reads wait)", durable.ErrBusy))
	default:
		t.answer(m, nil)
	}
}
