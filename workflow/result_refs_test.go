package workflow

import (
	"bytes"
	"errors"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/poll"
)

// An object that a result names stays until the run is forgotten, whichever task has made it; others of the run are deleted.
func TestARefOfAnEarlierTaskInAResultStays(t *testing.T) {
	made := Func0("made", 1, func(c Context) (Ref, error) {
		_, err := c.Put("other", []byte("x"))
		r, err2 := c.Put("named", []byte("hello"))
		return r, errors.Join(err, err2)
	}).With(NoEffect)
	pass := Func1("pass", 1, func(_ Context, r Ref) ([]Ref, error) { return []Ref{r}, nil }).With(NoEffect)
	b := &bedOf{t: t}
	n := b.join("a", Settings{Dir: t.TempDir(), Tasks: Tasks(made, pass)})
	r, err := Start(within(t), n, "r", pass.Bind(made.Bind()))
	ref := result(t, r, err)[0]
	gone := func(id phalanx.ObjectID) bool {
		v, err := n.TryGet(within(t), id)
		if err == nil {
			v.Release()
		}
		return errors.Is(err, phalanx.ErrDeleted)
	}
	other := phalanx.ObjectID(bytes.Replace([]byte(ref.ID()), []byte("named"), []byte("other"), 1))
	poll.Until(t, "the object that no result names to be deleted", func() bool { return gone(other) })
	if gone(ref.ID()) {
		t.Error("the object that the result names is deleted")
	}
	if err := Forget(within(t), n, "r"); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "the object to be deleted with the run", func() bool { return gone(ref.ID()) })
}

// A node without a folder, too, deletes what it has of a run that is forgotten.
func TestForgetOnANodeWithoutAFolder(t *testing.T) {
	big := Func0("big", 1, func(Context) ([]byte, error) { return make([]byte, 1<<20), nil }).With(NoEffect)
	b := &bedOf{t: t}
	n := b.join("a", Settings{Dir: t.TempDir()})
	m := b.join("b", Settings{Tasks: Tasks(big)})
	r, err := Start(within(t), n, "r", big.Bind())
	result(t, r, err)
	left := func() int {
		all, err := m.List(within(t), "wf/"+r.UID())
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	if left() != 1 {
		t.Fatalf("%d objects of the run", left())
	}
	if err := Forget(within(t), n, "r"); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "the result's object to be deleted", func() bool { return left() == 0 })
}

// A node that has only read a result deletes it with the run, also if who made it has started again and does not know of it.
func TestAReaderOfAResultDeletesIt(t *testing.T) {
	dir := t.TempDir()
	big := Func0("big", 1, func(Context) ([]byte, error) { return make([]byte, 1<<20), nil }).With(NoEffect)
	b := &bedOf{t: t}
	a := b.join("a", Settings{Dir: dir, Tasks: Tasks(big)})
	reads := b.join("b", Settings{})
	r, err := Start(within(t), reads, "r", big.Bind())
	result(t, r, err)
	leave(t, a)
	b.join("a", Settings{Dir: dir})
	left := func() int {
		all, err := reads.List(within(t), "wf/"+r.UID())
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	if left() != 1 {
		t.Fatalf("%d objects of the run", left())
	}
	if err := Forget(within(t), reads, "r"); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "the result's object to be deleted", func() bool { return left() == 0 })
}

// What an attempt has told by Beat is given to the next one, after a failure and after the death of its node.
func TestBeatReachesTheNextAttempt(t *testing.T) {
	var e effects
	g := newGate()
	fails := Func0("fails", 1, func(c Context) (string, error) {
		if c.Attempt() == 1 {
			for range 1000 { // the last counts
				if err := c.Beat([]byte("5")); err != nil {
					return "", err
				}
			}
			return "", errors.Join(c.Beat([]byte("10")), errors.New("once more"))
		}
		return string(c.LastBeat()), nil
	})
	dies := Func1("dies", 1, func(c Context, s string) (string, error) {
		if c.LastBeat() != nil {
			return s + string(c.LastBeat()), nil
		}
		if err := c.Beat([]byte(" 20")); err != nil {
			return "", err
		}
		e.add("begun")
		return "", g.pass(c, "dies")
	})
	b := &bedOf{t: t}
	n := b.join("a", Settings{Dir: t.TempDir(), Tasks: Tasks(fails)})
	m := b.join("b", Settings{Tasks: Tasks(dies)})
	r, err := Start(within(t), n, "r", dies.Bind(fails.Bind()))
	if err != nil {
		t.Fatal(err)
	}
	g.await(t)
	b.join("c", Settings{Tasks: Tasks(dies)})
	die(m)
	if got := result(t, r, nil); got != "10 20" || e.count("begun") != 1 {
		t.Errorf("%q, begun %d times", got, e.count("begun"))
	}
}
