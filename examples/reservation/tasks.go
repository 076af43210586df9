package main

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/phalanx-go/phalanx/workflow"
)

// outside is what the tasks see of the world.
type outside struct {
	Store client
	Dir   string // has a file that counts attempts
	Every int    // each attempt of that number kills its process; 0: none does
}

func (o outside) tasks() *workflow.Registry {
	p := o.program()
	return workflow.Tasks(p.begin, p.take, p.goOn, p.lock, p.reserve, p.finish)
}

// program returns the tasks. Where nothing is said of a task the store repeats its answer under the task's key, or the
// transaction's id.
func (o outside) program() program {
	var p program
	p.begin = workflow.Func1("begin", 1, func(c workflow.Context, t trip) (txn, error) {
		return attempt(o, t, func() (txn, error) { return o.Store.begin(c, c.Key(), t) })
	}).With(workflow.Idempotent)
	p.take = workflow.Func2("take", 1, func(c workflow.Context, t txn, row string) (seat, error) {
		return attempt(o, t.Trip, func() (seat, error) { return o.take(c, t, row) })
	}).With(workflow.Idempotent)
	p.goOn = workflow.Expand2("go on", 1, func(c workflow.Context, t txn, had []seat) (workflow.Step[booking], error) {
		return attempt(o, t.Trip, func() (workflow.Step[booking], error) {
			s, err := o.take(c, t, t.Trip.Rows[len(had)])
			if err != nil {
				return workflow.Step[booking]{}, err
			}
			had := append(slices.Clone(had), s)
			if len(had) == len(t.Trip.Rows) {
				return p.finish.Bind(workflow.Value(t), workflow.Value(had)), nil
			}
			return workflow.Named2[txn, []seat, booking]("go on", 1).Bind(workflow.Value(t), workflow.Value(had)).With(workflow.SyncCheckpoint), nil
		})
	}).With(workflow.Idempotent)
	p.lock = workflow.Func2("lock", 1, func(c workflow.Context, t txn, row string) (locked, error) {
		return attempt(o, t.Trip, func() (locked, error) { return o.Store.lock(c, t.ID, row, c.Fence()) })
	}).Undo(func(c workflow.Context, t txn, row string) error {
		_, err := attempt(o, t.Trip, func() (done, error) { return o.Store.unlock(c, t.ID, row, c.Fence()) })
		return err
	})
	p.reserve = workflow.Func3("reserve", 1, func(_ workflow.Context, t txn, row string, l locked) (seat, error) {
		return attempt(o, t.Trip, func() (seat, error) { return choose(t, row, l), nil })
	}).With(workflow.Deterministic, workflow.NoEffect)
	p.finish = workflow.Func2("finish", 1, func(c workflow.Context, t txn, seats []seat) (booking, error) {
		return attempt(o, t.Trip, func() (booking, error) { return o.Store.finish(c, t.ID, seats) })
	}).With(workflow.Idempotent)
	return p
}

// take locks a row and chooses a seat. A lock that is no undo's has no fence.
func (o outside) take(c workflow.Context, t txn, row string) (seat, error) {
	l, err := o.Store.lock(c, t.ID, row, workflow.Fence{})
	return choose(t, row, l), err
}

// attempt runs an attempt of a task or of an undo, and kills its process before or after it has taken effect, if it is its
// turn.
func attempt[R any](o outside, t trip, f func() (R, error)) (r R, err error) {
	when := never
	if t.Kills && o.Every > 0 {
		if when, err = o.turn(); err != nil {
			return r, err
		}
	}
	if when == beforeEffect {
		return r, die()
	}
	if r, err = f(); err != nil || when == never {
		return r, err
	}
	return r, die()
}

// death is when an attempt kills its process.
type death int

const (
	never death = iota
	beforeEffect
	afterEffect
)

func die() error { return syscall.Kill(os.Getpid(), syscall.SIGKILL) }

func (o outside) attempts() string { return filepath.Join(o.Dir, "attempts") }

// turn counts an attempt in a file, which no kill of a process changes, and says whether it is its turn to die.
func (o outside) turn() (death, error) {
	f, err := os.OpenFile(o.attempts(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return never, err
	}
	defer func() { _ = f.Close() }() // nothing was buffered
	if _, err := f.Write([]byte{'.'}); err != nil {
		return never, err
	}
	n, err := f.Seek(0, 1) // behind the own byte
	switch {
	case err != nil || n%int64(o.Every) != 0:
		return never, err
	case n/int64(o.Every)%2 == 0:
		return afterEffect, nil
	}
	return beforeEffect, nil
}

// count returns how many attempts that might have been killed there were.
func (o outside) count() (int64, error) {
	i, err := os.Stat(o.attempts())
	if err != nil {
		return 0, err
	}
	return i.Size(), nil
}
