package coordinator_test

import (
	"bytes"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/storenode"
)

// attempts returns the attempts of which the places have heard, in order.
func (b *bed) attempts() (all []uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.workers {
		for _, o := range w.orders {
			if c, ok := o.(reduce.Command); ok {
				all = append(all, c.State.Attempt)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// A coordinator that fails before it has an answer begins the same run again, and does not
// repeat the requests of the first attempt.
func TestARestartBeforeTheTargetIsBegun(t *testing.T) {
	bubble(t, 10, func(t *testing.T, b *bed) {
		out := b.reduce(sumAB)
		first, before := asked[directory.Begin](b)
		b.crash()
		if !slices.Contains(b.dir.forgotten, first.num) {
			t.Error("the first attempt's request goes on")
		}
		second, begin := asked[directory.Begin](b)
		if second.num == first.num || begin.Run != before.Run || begin.Tag != before.Tag {
			t.Errorf("asked for %+v, and before as number %d for %+v", second, first.num, before)
		}
		b.dir.answer(first, directory.Result{Kind: phalanx.ErrExists, Text: "an answer to the first attempt"})
		synctest.Wait()
		if len(out) != 0 {
			t.Fatalf("an answer to the first attempt counts: %v", (<-out).Err)
		}
		b.dir.answer(second, directory.Result{State: directory.Begun, Gen: gen(5)})
		b.ready("a", large, "n1#1")
		b.ready("b", large, "n2#1")
		if got := b.attempts(); !slices.Equal(got, []uint64{2}) {
			t.Errorf("the places hear of attempts %v", got)
		}
		b.rootDone(phalanx.Digest{9})
		reply[directory.Final](b, directory.Result{State: directory.Finished, Gen: gen(5)})
		succeeded(t, out)
		b.over()
	})
}

// A restarted coordinator asks the nodes of the earlier attempt for their places, and goes on
// with those under a higher attempt, time after time.
func TestARestartTakesTheTargetOver(t *testing.T) {
	bubble(t, 10, func(t *testing.T, b *bed) {
		out := b.reduce(sumAB)
		before := reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(5)})
		b.ready("a", large, "n1#1")
		b.ready("b", large, "n2#1")
		root, rp := b.place(0)
		_, lp := b.place(1)
		rootGen, leafGen := rp.state.Gen, lp.state.Gen
		for attempt := uint64(2); attempt < 5; attempt++ {
			b.crash()
			if again := reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(5)}); again.Run != before.Run || again.Tag != before.Tag {
				t.Errorf("asked for %+v, and before for %+v", again, before)
			}
			b.ready("a", large, "n1#1")
			b.ready("b", large, "n2#1")
			b.pass(time.Second)
			if w, p := b.place(0); w != root || p.state.Gen != rootGen || p.state.Attempt != attempt || p.state.Reduce != gen(5) {
				t.Errorf("attempt %d: the root on %s is %+v", attempt, w.node, p.state)
			}
			if _, p := b.place(1); p.state.Gen != leafGen || p.state.Attempt != attempt {
				t.Errorf("attempt %d: the leaf is %+v", attempt, p.state)
			}
		}
		// It hears of places that end after that.
		w, p := b.place(1)
		b.mu.Lock()
		delete(w.places, 1)
		b.mu.Unlock()
		_ = b.sys.Root.StopFuture(p.pid).Wait()
		b.ready(p.state.Source, large, "n3#1")
		b.pass(10 * time.Second)
		if next, p := b.place(1); next.node != "n3#1" || p.state.Gen.Compare(leafGen) <= 0 {
			t.Errorf("replaced by %+v on %s", p.state, next.node)
		}
		reply[directory.Restart](b, directory.Result{State: directory.Begun, Gen: gen(6)})
		b.rootDone(phalanx.Digest{9})
		reply[directory.Final](b, directory.Result{State: directory.Finished, Gen: gen(6)})
		if r := succeeded(t, out); r.Gen != gen(6) {
			t.Errorf("got %+v", r)
		}
		b.over()
	})
}

// The target became final, but the coordinator failed before it heard so.
func TestARestartAfterTheEnd(t *testing.T) {
	bubble(t, 10, func(t *testing.T, b *bed) {
		out := b.reduce(sumAB)
		reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(5)})
		b.ready("a", large, "n1#1")
		b.ready("b", large, "n2#1")
		b.rootDone(phalanx.Digest{9})
		root, _ := b.place(0)
		_, final := asked[directory.Final](b)
		b.crash()
		none[directory.Final](b)
		reply[directory.Begin](b, directory.Result{State: directory.Finished, Gen: gen(5), Meta: large, Digest: final.Digest, Note: final.Note})
		if r := succeeded(t, out); r.Digest != (phalanx.Digest{9}) || !r.Meta.Equal(large) || !slices.Equal(r.In, ab) {
			t.Errorf("got %+v", r)
		}
		b.pass(time.Second)
		if n := b.running(); n != 0 {
			t.Errorf("%d places go on", n)
		}
		for _, o := range root.orders {
			if s, ok := o.(reduce.Stop); ok && !s.Final {
				t.Error("the root was told to drop the target")
			}
		}
		none[directory.Abort](b)
		b.over()
	})
}

// The deadline is the caller's, however often the coordinator fails.
func TestARestartDoesNotPutTheDeadlineOff(t *testing.T) {
	bubble(t, 10, func(t *testing.T, b *bed) {
		r := sumAB
		r.Deadline = 5 * time.Second
		out := b.reduce(r)
		reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(5)})
		b.crash() // takes 3 s
		reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(5)})
		b.ready("a", large, "n1#1")
		b.pass(2100 * time.Millisecond)
		failed(t, out, phalanx.ErrDeadline, "b", "1 of 2 sources are ready")
	})
}

// A coordinator that fails after its caller has gone gives the target back, and
// does not do the work over again.
func TestARestartAfterACancel(t *testing.T) {
	for name, final := range map[string]bool{"before the end": false, "after the end": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 10, func(t *testing.T, b *bed) {
				r := sumAB
				r.Deadline = 2 * time.Second
				out := b.reduce(r)
				reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(5)})
				b.ready("a", large, "n1#1")
				b.ready("b", large, "n2#1")
				if final {
					b.rootDone(phalanx.Digest{9})
				}
				root, _ := b.place(0)
				b.pass(2100 * time.Millisecond)
				failed(t, out, phalanx.ErrDeadline, "sum", "")
				b.crash()
				if final {
					reply[directory.Begin](b, directory.Result{State: directory.Finished, Gen: gen(5), Meta: large, Note: reduce.Note(ab, ab)})
					none[directory.Abort](b)
				} else {
					reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(5)})
					if a := reply[directory.Abort](b, directory.Result{}); a.Gen != gen(5) {
						t.Errorf("released %v", a.Gen)
					}
				}
				b.pass(time.Second)
				if n := b.running(); n != 0 {
					t.Errorf("%d places go on", n)
				}
				for _, o := range root.orders {
					if s, ok := o.(reduce.Stop); ok && s.Final != final {
						t.Errorf("the root was told %+v", s)
					}
				}
				if len(out) != 0 {
					t.Errorf("answered again: %+v", <-out)
				}
				b.over()
			})
		})
	}
}

// A combination of the first attempt does not become the second one's, though
// its number is the same.
func TestACombinationOfAnEarlierAttempt(t *testing.T) {
	bubble(t, 10, func(t *testing.T, b *bed) {
		started, goOn := make(chan struct{}, 2), make(chan struct{})
		if err := b.env.Ops.Register("slow", func(_ phalanx.DType, dst, src []byte) error {
			started <- struct{}{}
			<-goOn
			dst[0] += src[0]
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		out := b.reduce(storenode.Reduce{Target: "sum", Sources: []phalanx.ObjectID{"a", "b", "c"}, Num: 2, Op: "slow"})
		reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(5)})
		b.pass(time.Second)
		tiny := func(id phalanx.ObjectID, v byte) {
			b.tell(directory.Readiness{Object: id, State: directory.Finished, Gen: gen(1), Meta: phalanx.Meta{Size: 1}, Inline: true, Bytes: []byte{v}})
		}
		tiny("a", 1)
		tiny("b", 2)
		<-started
		b.crash()
		reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(5)})
		b.pass(time.Second)
		tiny("b", 2)
		tiny("c", 4)
		<-started
		goOn <- struct{}{} // the first one, or the second: only one of them counts
		goOn <- struct{}{}
		put := reply[directory.PutInline](b, directory.Result{State: directory.Finished, Gen: gen(5)})
		if put.Bytes[0] != 6 || !bytes.Equal(put.Note, reduce.Note([]phalanx.ObjectID{"a", "b", "c"}, []phalanx.ObjectID{"b", "c"})) {
			t.Errorf("put %v as %x", put.Bytes, put.Note)
		}
		succeeded(t, out)
		b.over()
	})
}

// A coordinator that fails too often is stopped: its caller hears of it, and the
// target is free again.
func TestTooManyFailures(t *testing.T) {
	bubble(t, 2, func(t *testing.T, b *bed) {
		out := b.reduce(sumAB)
		for range 2 {
			reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(5)})
			b.crash()
		}
		last := reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(5)})
		if len(out) != 0 {
			t.Fatal("answered too early")
		}
		b.crash()
		failed(t, out, phalanx.ErrInternal, "sum", "the coordinator's actor failed")
		if a := reply[directory.Abort](b, directory.Result{}); a.Gen != gen(5) || a.Run != last.Run {
			t.Errorf("released %v of run %d, begun by run %d", a.Gen, a.Run, last.Run)
		}
		none[directory.Begin](b)
		b.over()
	})
}

// A coordinator that fails takes back a Begin that has no answer: the Begin would bind a target
// that the next instance does not know of.
func TestABeginThatIsOnItsWay(t *testing.T) {
	bubble(t, 10, func(t *testing.T, b *bed) {
		out := b.reduce(sumAB)
		b.pass(time.Second)
		b.crash()
		reply[directory.Cancel](b, directory.Result{})
		b.pass(time.Second)
		reply[directory.Begin](b, directory.Result{Kind: phalanx.ErrExists, Text: "taken"})
		failed(t, out, phalanx.ErrExists, "sum", "taken")
		b.over()
	})
}
