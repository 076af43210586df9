package store

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	nput "github.com/phalanx-go/phalanx/node/put"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/transfer"
	"github.com/phalanx-go/phalanx/storenode"
)

// An id that was deleted may have been put again by the time an order or an answer about
// its earlier life comes.

// second is the generation of the later life, first that of the earlier one.
var second = phalanx.Generation{Epoch: 1, Seq: 2}

// answers is scripted, and keeps how the other requests are answered.
type answers struct {
	*scripted
	deliver chan func(phalanx.NodeID, directory.Result)
}

func (d answers) Request(id phalanx.ObjectID, num uint64, body directory.Body, deliver func(phalanx.NodeID, directory.Result)) {
	switch body.(type) {
	case directory.Begin, directory.PutInline, directory.Final, directory.Delete:
		d.deliver <- deliver
	default:
		d.scripted.Request(id, num, body, deliver)
	}
}

// answer answers the request that was made last.
func (d answers) answer(r directory.Result) {
	synctest.Wait()
	(<-d.deliver)("o", r)
	synctest.Wait()
}

// drop has the owner order e to drop a deleted generation.
func (e *Env) drop(gen phalanx.Generation) {
	e.send(e.StorePID, Pushed{From: "o", Push: directory.Push{To: e.Self, Object: "x", Order: directory.PushDrop, Gen: gen, Seq: 1<<32 | 9}})
	synctest.Wait()
}

// enter gives e a complete copy of x.
func (e *Env) enter(gen phalanx.Generation) *objectCopy {
	e.Table.budget.Force(30)
	c := e.Table.keepInline(storenode.Info{Object: "x", Gen: gen, Meta: phalanx.Meta{Size: 30}}, make([]byte, 30), "", false)
	e.Table.release(c)
	return c
}

// An order to drop that comes late drops nothing of the present life: neither a copy,
// nor one that has just come, nor one that waits for room.
func TestLateDrop(t *testing.T) {
	storeBubble(t, func(t *testing.T, e *Env, d *scripted) {
		e.enter(second)
		if e.drop(first); e.Table.lookup("x") == nil {
			t.Error("the copy is gone")
		}
		if e.drop(second); e.Table.lookup("x") != nil {
			t.Error("the copy stays although the object was deleted")
		}
	})
	for name, dropped := range map[string]phalanx.Generation{"late": first, "in time": second} {
		storeBubble(t, func(t *testing.T, e *Env, d *scripted) {
			all := e.Pool.Budget().Cap()
			_ = e.Pool.Budget().TryReserve(all)
			got := make(chan error, 1)
			go func() {
				v, err := e.Get(t.Context(), "x", true)
				if err == nil {
					v.Release()
				}
				got <- err
			}()
			synctest.Wait()
			d.answers(e.arrivalOf("x").num, directory.Result{State: directory.Finished, Gen: second, Meta: phalanx.Meta{Size: 30}, Inline: make([]byte, 30), IsInline: true})
			e.drop(dropped)
			e.Pool.Budget().Release(all)
			if err := <-got; errors.Is(err, phalanx.ErrDeleted) != (dropped == second) {
				t.Errorf("%s: a Get that waits for room ends with %v", name, err)
			}
			if there := e.Table.lookup("x") != nil; there != (dropped == first) {
				t.Errorf("%s: the copy that waited for room is there: %v", name, there)
			}
		})
	}
	for name, dropped := range map[string]phalanx.Generation{"late": first, "in time": second} {
		storeBubble(t, func(t *testing.T, e *Env, _ *scripted) {
			c := e.enter(second)
			f := &fetcher{env: e, object: "x", arrival: &arrival{}, core: transfer.NewReceiver(transfer.Config{Object: "x"}), final: c}
			f.pushed(transfer.Pushed{Order: transfer.OrderDrop, Gen: dropped})
			if gone := e.Table.isDropped(c); gone != (dropped == second) {
				t.Errorf("%s: the copy that has just come is gone: %v", name, gone)
			}
		})
	}
}

// A node that hears late that its Delete was carried out keeps the copy of a later Put.
func TestLateAnswerOfADelete(t *testing.T) {
	for name, test := range map[string]struct {
		has   phalanx.Generation
		stays bool
	}{"late": {second, true}, "in time": {first, false}} {
		storeBubble(t, func(t *testing.T, e *Env, s *scripted) {
			d := answers{s, make(chan func(phalanx.NodeID, directory.Result), 1)}
			e.Directory = d
			done := make(chan error, 1)
			e.Delete("x", time.Minute, func(err error) { done <- err })
			e.enter(test.has)
			d.answer(directory.Result{State: directory.Deleted, Gen: first})
			if err := <-done; err != nil {
				t.Error(err)
			}
			if stays := e.Table.lookup("x") != nil; stays != test.stays {
				t.Errorf("%s: the copy stays: %v", name, stays)
			}
		})
	}
}

// A Put may hear that its bytes are deleted before it hears that they were put: it leaves
// no copy. An order to drop the generation before does not count.
func TestDropOvertakesTheAnswerToAPut(t *testing.T) {
	for name, test := range map[string]struct {
		small   bool // inline
		begun   bool // the order comes when the id is bound, before the bytes are final
		dropped phalanx.Generation
		stays   bool
	}{
		"inline":                 {true, false, second, false},
		"inline, of before":      {true, false, first, true},
		"before it is bound":     {false, false, second, false},
		"before that, of before": {false, false, first, true},
		"before it is final":     {false, true, second, false},
		"then, of before":        {false, true, first, true},
	} {
		storeBubble(t, func(t *testing.T, e *Env, s *scripted) {
			if test.small {
				e.InlineLimit = 1000
			}
			d := answers{s, make(chan func(phalanx.NodeID, directory.Result), 1)}
			e.Directory = d
			ended := make(chan error, 1)
			go func() {
				_, _, err := e.Put(t.Context(), storenode.Put{Object: "x", Bytes: make([]byte, 30), Meta: phalanx.Meta{Size: 30}})
				ended <- err
			}()
			synctest.Wait()
			if !test.begun {
				e.drop(test.dropped)
			}
			if !test.small {
				d.answer(directory.Result{State: directory.Begun, Gen: second})
			}
			if test.begun {
				e.drop(test.dropped)
			}
			if test.small || test.stays || test.begun {
				d.answer(directory.Result{State: directory.Finished, Gen: second})
			}
			if err := <-ended; test.stays && err != nil || !test.stays && !errors.Is(err, phalanx.ErrDeleted) {
				t.Errorf("%s: it ends with %v", name, err)
			}
			if stays := e.Table.lookup("x") != nil; stays != test.stays {
				t.Errorf("%s: its copy stays: %v", name, stays)
			}
		})
	}
}

// A Put that has its answer, and whose copy is not there yet, hears of no order any more.
func TestDropBeforeThePutEntersItsCopy(t *testing.T) {
	for name, dropped := range map[string]phalanx.Generation{"of before": first, "its own": second} {
		storeBubble(t, func(t *testing.T, e *Env, _ *scripted) {
			put := e.System.NewLocalPID("put")
			if err := e.addPut("x", put, false); err != nil {
				t.Fatal(err)
			}
			e.drop(dropped)
			buf := e.Pool.TryBuffer(30)
			_, _ = buf.Write(make([]byte, 30))
			e.keep(supply{info: storenode.Info{Object: "x", Gen: second, Meta: phalanx.Meta{Size: 30}}, buffer: buf, entry: nput.Copy{Epoch: 1}})
			if stays := e.Table.lookup("x") != nil; stays != (dropped == first) {
				t.Errorf("%s: the copy stays: %v", name, stays)
			}
			e.removePut("x", put)
		})
	}
}

// A Delete asks for the present generation, and then names it: a late duplicate of the Delete
// does not delete the object of a later Put.
func TestADeleteNamesWhatItDeletes(t *testing.T) {
	storeBubble(t, func(t *testing.T, e *Env, s *scripted) {
		d := asksOf{s, make(chan directory.Body, 1), make(chan func(phalanx.NodeID, directory.Result), 1)}
		e.Directory = d
		done := make(chan error, 1)
		e.Delete("x", time.Minute, func(err error) { done <- err })
		if b := <-d.asked; b != (directory.Delete{}) {
			t.Errorf("it asks %+v", b)
		}
		(<-d.deliver)("o", directory.Result{State: directory.Finished, Gen: second})
		if b := <-d.asked; b != (directory.Delete{Gen: second}) || len(done) > 0 {
			t.Errorf("then it asks %+v", b)
		}
		e.enter(second)
		(<-d.deliver)("o", directory.Result{State: directory.Deleted, Gen: second})
		if err := <-done; err != nil || e.Table.lookup("x") != nil {
			t.Errorf("it ends with %v, its copy stays: %v", err, e.Table.lookup("x") != nil)
		}
	})
}

// asksOf is scripted, and keeps the requests and how to answer them.
type asksOf struct {
	*scripted
	asked   chan directory.Body
	deliver chan func(phalanx.NodeID, directory.Result)
}

func (d asksOf) Request(_ phalanx.ObjectID, _ uint64, body directory.Body, deliver func(phalanx.NodeID, directory.Result)) {
	d.asked <- body
	d.deliver <- deliver
}

// Inline bytes that are on their way as they are deleted are not read: not by a Get that
// began before, nor by one that begins when the id has been put again.
func TestDropOvertakesInlineBytes(t *testing.T) {
	storeBubble(t, func(t *testing.T, e *Env, d *scripted) {
		got := make(chan phalanx.Generation, 2)
		get := func() {
			v, err := e.Get(t.Context(), "x", true)
			if err != nil {
				t.Error(err)
				got <- phalanx.Generation{}
				return
			}
			got <- v.Info().Gen
			v.Release()
		}
		inline := func(gen phalanx.Generation) {
			last := uint64(0)
			for num := range d.locates {
				last = max(last, num)
			}
			d.answers(last, directory.Result{State: directory.Finished, Gen: gen, Meta: phalanx.Meta{Size: 30}, Inline: make([]byte, 30), IsInline: true})
		}
		go get()
		synctest.Wait()
		e.drop(first)
		go get()
		synctest.Wait()
		inline(first)
		if len(got) > 0 || e.Table.lookup("x") != nil {
			t.Error("what was deleted is read")
		}
		inline(second)
		for range 2 {
			if gen := <-got; gen != second {
				t.Errorf("a Get reads %v", gen)
			}
		}
	})
}

// The owner may list the bytes of a Put whose actor panics once the owner was asked to record them, and
// other nodes may drop their copies then: the bytes stay until its answer. The caller hears of the
// panic at once, and the memory of bytes that do not become a copy is given back.
func TestAPutThatPanicsBeforeItsAnswer(t *testing.T) {
	recorded := directory.Result{State: directory.Finished, Gen: second, Meta: phalanx.Meta{Size: 30}}
	waiting := recorded
	waiting.Waiting = true
	for name, test := range map[string]struct {
		small   bool
		dropped phalanx.Generation // ordered before the answer
		ends    bool               // the node, before the answer
		answers []directory.Result
		stays   bool
	}{
		"inline":         {small: true, answers: []directory.Result{recorded}, stays: true},
		"larger":         {answers: []directory.Result{recorded}, stays: true},
		"inline again":   {small: true, answers: []directory.Result{recorded, recorded}, stays: true},
		"older deleted":  {small: true, dropped: first, answers: []directory.Result{recorded}, stays: true},
		"inline deleted": {small: true, dropped: second, answers: []directory.Result{recorded}},
		"larger deleted": {dropped: second, answers: []directory.Result{recorded}},
		"refused":        {small: true, answers: []directory.Result{{Kind: phalanx.ErrExists}}},
		"released":       {answers: []directory.Result{{Kind: phalanx.ErrAborted}}},
		"queued":         {small: true, answers: []directory.Result{waiting, recorded}},
		"node ends":      {small: true, ends: true, answers: []directory.Result{recorded}},
	} {
		storeBubble(t, func(t *testing.T, e *Env, s *scripted) {
			if test.small {
				e.InlineLimit = 1000
			}
			guarded(e)
			d := answers{s, make(chan func(phalanx.NodeID, directory.Result), 1)}
			e.Directory = d
			used := e.Pool.Budget().Used()
			ended := make(chan error, 1)
			go func() {
				_, _, err := e.Put(t.Context(), storenode.Put{Object: "x", Bytes: make([]byte, 30), Meta: phalanx.Meta{Size: 30}})
				ended <- err
			}()
			synctest.Wait()
			if !test.small {
				d.answer(directory.Result{State: directory.Begun, Gen: second})
			}
			e.send(e.makers("x")[0], actors.Crash{})
			if err := <-ended; !errors.Is(err, phalanx.ErrInternal) {
				t.Errorf("%s: it ends with %v", name, err)
			}
			synctest.Wait()
			if len(e.makers("x")) != 1 {
				t.Errorf("%s: a node that leaves does not wait for the answer", name)
			}
			if !test.dropped.IsZero() {
				e.drop(test.dropped)
			}
			if test.ends {
				e.Close()
				synctest.Wait()
			}
			answer := <-d.deliver
			for _, r := range test.answers {
				answer("o", r)
				synctest.Wait()
			}
			if c := e.Table.lookup("x"); (c != nil) != test.stays || c != nil && !(c.Complete && c.Pinned && c.Gen == second) || len(e.makers("x")) != 0 {
				t.Errorf("%s: its copy is %+v, and Puts run: %v", name, c, e.makers("x"))
			}
			if now := e.Pool.Budget().Used() - e.Pool.Idle(); !test.stays && now != used {
				t.Errorf("%s: it keeps %d bytes", name, now-used)
			}
			if slices.ContainsFunc(s.reports, func(r directory.Request) bool { return r.Body == (directory.Drop{Gen: second}) }) {
				t.Errorf("%s: the owner was told %+v", name, s.reports)
			}
		})
	}
}

// guarded has the actors of e stop when they panic.
func guarded(e *Env) {
	e.Spawn = func(p *actor.Props, name string) (*actor.PID, error) {
		return e.System.Root.SpawnNamed(actors.StopOnPanic(e.Log).Guard(p), name)
	}
}

// The owner hears that the node has no copy, after it has listed that of a Put: the node announces
// the copy as it enters it.
func TestACopyThatIsTakenOffTheList(t *testing.T) {
	for name, before := range map[string]bool{"before it is there": true, "after it": false} {
		storeBubble(t, func(t *testing.T, e *Env, s *scripted) {
			e.InlineLimit = 1000
			d := answers{s, make(chan func(phalanx.NodeID, directory.Result), 1)}
			e.Directory = d
			ended := make(chan error, 1)
			go func() {
				_, _, err := e.Put(t.Context(), storenode.Put{Object: "x", Bytes: make([]byte, 30), Meta: phalanx.Meta{Size: 30}})
				ended <- err
			}()
			synctest.Wait()
			if before {
				e.reportDrop("x", second)
			}
			d.answer(directory.Result{State: directory.Finished, Gen: second})
			if !before {
				e.reportDrop("x", second)
			}
			if err := <-ended; err != nil || e.Table.lookup("x") == nil {
				t.Errorf("%s: the Put ends with %v", name, err)
			}
			dropped, announced := uint64(0), uint64(0)
			for _, r := range s.reports {
				switch b := r.Body.(type) {
				case directory.Drop:
					dropped = r.Num
				case directory.Announce:
					if b.Gen == second && b.Complete && b.Pinned {
						announced = r.Num
					}
				}
			}
			if (dropped != 0) != before || (announced > dropped) != before {
				t.Errorf("%s: report %d says that the copy is gone, and %d that it is here", name, dropped, announced)
			}
		})
	}
}
