package reservation

import (
	"path/filepath"
	"slices"

	"github.com/phalanx-go/phalanx/internal/deaths"
	"github.com/phalanx-go/phalanx/workflow"
)

// Outside is what the tasks see of the world.
type Outside struct {
	Store Client
	Dir   string // has a file that counts attempts
	Every int    // each attempt of that number kills its process; 0: none does
}

// Tasks returns the tasks of all stages.
func (o Outside) Tasks() *workflow.Registry { return workflow.Tasks(o.All()...) }

// All is Tasks, for a registry that has others as well.
func (o Outside) All() []workflow.AnyTask {
	p := o.Program()
	return []workflow.AnyTask{p.begin, p.take, p.goOn, p.lock, p.reserve, p.finish}
}

// Program returns the tasks. Where nothing is said of a task the store repeats its answer under the task's key, or the
// transaction's id.
func (o Outside) Program() Program {
	var p Program
	p.begin = workflow.Func1("begin", 1, func(c workflow.Context, t Trip) (txn, error) {
		return attempt(o, t, func() (txn, error) { return o.Store.begin(c, c.Key(), t) })
	}).With(workflow.Idempotent)
	p.take = workflow.Func2("take", 1, func(c workflow.Context, t txn, row string) (Seat, error) {
		return attempt(o, t.Trip, func() (Seat, error) { return o.take(c, t, row) })
	}).With(workflow.Idempotent)
	p.goOn = workflow.Expand2("go on", 1, func(c workflow.Context, t txn, had []Seat) (workflow.Step[Booking], error) {
		return attempt(o, t.Trip, func() (workflow.Step[Booking], error) {
			s, err := o.take(c, t, t.Trip.Rows[len(had)])
			if err != nil {
				return workflow.Step[Booking]{}, err
			}
			had := append(slices.Clone(had), s)
			if len(had) == len(t.Trip.Rows) {
				return p.finish.Bind(workflow.Value(t), workflow.Value(had)), nil
			}
			return workflow.Named2[txn, []Seat, Booking]("go on", 1).Bind(workflow.Value(t), workflow.Value(had)).With(workflow.SyncCheckpoint), nil
		})
	}).With(workflow.Idempotent)
	p.lock = workflow.Func2("lock", 1, func(c workflow.Context, t txn, row string) (locked, error) {
		return attempt(o, t.Trip, func() (locked, error) { return o.Store.lock(c, t.ID, row, c.Fence()) })
	}).Undo(func(c workflow.Context, t txn, row string) error {
		_, err := attempt(o, t.Trip, func() (done, error) { return o.Store.unlock(c, t.ID, row, c.Fence()) })
		return err
	})
	p.reserve = workflow.Func3("reserve", 1, func(_ workflow.Context, t txn, row string, l locked) (Seat, error) {
		return attempt(o, t.Trip, func() (Seat, error) { return choose(t, row, l), nil })
	}).With(workflow.Deterministic, workflow.NoEffect)
	p.finish = workflow.Func2("finish", 1, func(c workflow.Context, t txn, seats []Seat) (Booking, error) {
		return attempt(o, t.Trip, func() (Booking, error) { return o.Store.finish(c, t.ID, seats) })
	}).With(workflow.Idempotent)
	return p
}

// take locks a row and chooses a seat. A lock that is no undo's has no fence.
func (o Outside) take(c workflow.Context, t txn, row string) (Seat, error) {
	l, err := o.Store.lock(c, t.ID, row, workflow.Fence{})
	return choose(t, row, l), err
}

// attempt runs an attempt of a task or of an undo, and kills its process before or after it has taken effect, if it is its
// turn.
func attempt[R any](o Outside, t Trip, f func() (R, error)) (r R, err error) {
	when := deaths.Never
	if t.Kills && o.Every > 0 {
		if when, err = o.attempts().Next(o.Every); err != nil {
			return r, err
		}
	}
	if when == deaths.BeforeEffect {
		return r, deaths.Die()
	}
	if r, err = f(); err != nil || when == deaths.Never {
		return r, err
	}
	return r, deaths.Die()
}

func (o Outside) attempts() deaths.Counter { return deaths.Counter(filepath.Join(o.Dir, "attempts")) }

// Count returns how many attempts that might have been killed there were.
func (o Outside) Count() (int, error) { return o.attempts().Count() }
