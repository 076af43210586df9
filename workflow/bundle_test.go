package workflow

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/poll"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// lifeOf returns the life of an attempt on an empty store, whose inputs each name some objects.
func lifeOf(inputs, objects int, again func(context.Context, flow.Wish) (bool, error)) (l *life, refs []Ref) {
	u := core.UID{Ledger: 1, Epoch: 2, Index: 3}
	l = newLife(&attempt{run: u.String(), uid: u, again: again}, newMemory(), nil)
	var all []flow.Ref
	for i := range objects {
		id := phalanx.ObjectID(fmt.Sprintf("%06d", i))
		all = append(all, flow.Ref{Object: id})
		refs = append(refs, Ref{id: id})
	}
	for i := range inputs {
		l.named(core.Located{Task: i, Disks: []string{fmt.Sprint("disk", i%5)}}, all)
	}
	return l, refs
}

// An object that is gone is asked for once, however many inputs name it: each question may take ten minutes. If no disk has it none of
// these inputs has a checkpoint.
func TestAnObjectThatManyInputsNameIsAskedForOnce(t *testing.T) {
	var asked []flow.Wish
	l, refs := lifeOf(1000, 1, func(_ context.Context, w flow.Wish) (bool, error) {
		asked = append(asked, w)
		return true, errors.New("no disk has it")
	})
	for range 3 { // a task may ask again
		if _, err := l.get(t.Context(), refs[0]); !errors.Is(err, phalanx.ErrNotFound) {
			t.Error(err)
		}
	}
	if len(asked) != 3 || len(asked[0].Disks) != 5 {
		t.Errorf("asked %d times", len(asked))
	}
	var e ended
	l.tell(&e)
	if len(e.torn) != 1000 || len(e.unsaved) != 1000 || len(e.partly) != 1000 || len(e.missing) != 1 {
		t.Errorf("%d inputs are torn, %d have no checkpoint, %d are not whole", len(e.torn), len(e.unsaved), len(e.partly))
	}
}

// An attempt that passes on many objects which are lost ends with the first one that nobody has, and does not wait for all.
func TestAnAttemptDoesNotWaitForAllThatIsLost(t *testing.T) {
	var asked atomic.Int64
	l, refs := lifeOf(1, 10_000, func(ctx context.Context, w flow.Wish) (bool, error) {
		if asked.Add(1) == 3 {
			return true, errors.New("no disk has it")
		}
		<-ctx.Done() // the disk is away
		return false, reason(ctx)
	})
	_, err := l.list(t.Context(), refs)
	if err == nil || !strings.Contains(err.Error(), "no disk has it") || len(err.Error()) > 1000 || asked.Load() > 2*looksAtOnce {
		t.Errorf("%d objects were asked for: %.2000v", asked.Load(), err)
	}
	var e ended
	l.tell(&e)
	if len(e.torn) != 1 || len(e.unsaved) != 1 || len(e.missing) != 1 {
		t.Errorf("%v, %v, %d objects are missing", e.torn, e.unsaved, len(e.missing))
	}
}

// A Ref whose object was deleted, and put again with other bytes, does not go on: no disk could write the output.
func TestARefOfAnotherObjectDoesNotGoOn(t *testing.T) {
	pass := Func1("pass", 1, func(_ Context, r Ref) ([]Ref, error) { return []Ref{r}, nil }).With(NoEffect)
	b := &bedOf{t: t}
	n := b.join("a", Settings{Dir: t.TempDir(), Tasks: Tasks(pass)})
	old, err := n.Put(within(t), "given", []byte("old bytes"))
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Delete(within(t), "given"); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Put(within(t), "given", []byte("new")); err != nil {
		t.Fatal(err)
	}
	r, err := Start(within(t), n, "r", pass.Bind(Value(RefOf(old))))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Result(within(t)); !errors.Is(err, phalanx.ErrFailed) || !strings.Contains(err.Error(), "given") {
		t.Errorf("%v", err)
	}
}

// A caller deletes an object, or puts another one in its place, after a task has read it and before a disk has it. No disk can write the
// output then, and no other attempt can make it: the run fails, and names the object.
func TestAnObjectThatACallerTakesAwayBeforeItIsSaved(t *testing.T) {
	b := &bedOf{t: t}
	n := b.join("a", Settings{Dir: t.TempDir()})
	var put bool
	pass := Func1("pass", 1, func(c Context, r Ref) ([]Ref, error) {
		if v, err := c.Get(r); err != nil {
			return nil, err
		} else if v.Release(); c.Attempt() > 1 {
			return nil, errors.New("it was read twice")
		}
		err := n.Delete(c, r.ID())
		if put && err == nil {
			_, err = n.Put(c, r.ID(), []byte("other"))
		}
		return []Ref{r}, err
	}).With(NoEffect)
	b.join("b", Settings{Tasks: Tasks(pass)})
	for _, put = range []bool{false, true} {
		id := phalanx.ObjectID(fmt.Sprint("given", put))
		info, err := n.Put(within(t), id, []byte("bytes"))
		if err != nil {
			t.Fatal(err)
		}
		r, err := Start(within(t), n, string(id), pass.Bind(Borrowed(RefOf(info))))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Result(within(t)); !errors.Is(err, phalanx.ErrFailed) || !strings.Contains(err.Error(), string(id)) {
			t.Errorf("put again: %v: %v", put, err)
		}
	}
}

// An object that another output has brought to the disk meanwhile is not written again; the outputs themselves are.
func TestADiskDoesNotWriteWhatItHasByNow(t *testing.T) {
	u := core.UID{Ledger: 1, Epoch: 2, Index: 3}
	l := &incarnation{has: newBelongings()}
	e := core.SaveBlob{Blob: core.Blob{Run: u, Task: 1}, Result: true}
	place := flow.PlaceOfRef(u.String(), flow.Ref{Object: "x"})
	if l.written(place, e) {
		t.Error("the disk does not have it yet")
	}
	l.has.all.Blob(place, false)
	l.has.all.Blob(flow.PlaceOf(e.Blob), true)
	if !l.written(place, e) || l.written(flow.PlaceOf(e.Blob), e) {
		t.Error("the disk has the object, and an output is written once more")
	}
	if _, gone := l.has.all.Free([]core.Released{{Run: u}}); len(gone) > 0 {
		t.Errorf("a result names it: %q", gone)
	}
}

// A task that waits for an object which a disk puts again is not silent: its Heartbeat begins anew after that.
func TestAWaitForADiskIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, refs := lifeOf(1, 1, func(ctx context.Context, _ flow.Wish) (bool, error) {
			time.Sleep(time.Minute)
			return false, errors.New("the disk is away")
		})
		l.a.call.Heartbeat = time.Second
		r := &runner{grace: attemptGrace}
		_, err := r.attend(t.Context(), l.a, l, func(c Context) (any, error) {
			_, err := l.get(c, refs[0])
			time.Sleep(900 * time.Millisecond)
			return nil, err
		})
		if !errors.Is(err, phalanx.ErrNotFound) || errors.Is(err, ErrSilent) {
			t.Error(err)
		}
		_, err = r.attend(t.Context(), l.a, l, func(c Context) (any, error) {
			<-c.Done()
			return nil, c.Err()
		})
		if !errors.Is(err, ErrSilent) {
			t.Error(err)
		}
	})
}

// An object that the caller has deleted is not asked for: what reads it fails, and with it the run.
func TestAnObjectThatTheCallerDeletes(t *testing.T) {
	var e effects
	reads := Func2("reads", 1, func(c Context, r Ref, _ string) (int, error) {
		b, err := GetBytes(c, r)
		return len(b), err
	}).With(NoEffect, Retry(0))
	mark := Func1("mark", 1, func(Context, Ref) (int, error) { e.add("mark"); return 0, nil }) // it begins after the checkpoint of what it reads
	b := &bedOf{t: t}
	n := b.join("a", Settings{Dir: t.TempDir(), Tasks: Tasks(reads, mark)})
	info, err := n.Put(within(t), "given", []byte("bytes"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Start(within(t), n, "r", reads.Bind(Value(RefOf(info)), After(Event[string]("go"), mark.Bind(Value(RefOf(info))))))
	if err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "the checkpoint", func() bool { return e.count("mark") == 1 })
	if err := n.Delete(within(t), "given"); err != nil {
		t.Fatal(err)
	}
	if err := Signal(within(t), n, "r", "go", "key", []byte(`"go"`)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Result(within(t)); !errors.Is(err, phalanx.ErrFailed) || !strings.Contains(err.Error(), "given") {
		t.Error(err)
	}
}
