package coordinator_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/storenode"
)

var (
	ab    = []phalanx.ObjectID{"a", "b"}
	sumAB = storenode.Reduce{Target: "sum", Sources: ab, Op: phalanx.Sum}
)

// failed checks that a reduce was answered once, with an error.
func failed(t *testing.T, out <-chan storenode.Reduced, kind phalanx.Kind, object phalanx.ObjectID, text string) {
	t.Helper()
	synctest.Wait()
	if len(out) != 1 {
		t.Fatalf("answered %d times, want once", len(out))
	}
	d := <-out
	var e *phalanx.Error
	if !errors.As(d.Err, &e) || e.Kind != kind || e.Object != object || e.Op != "reduce" || d.Target != "sum" || !strings.Contains(d.Err.Error(), text) {
		t.Errorf("answered %v, want %v of %q: %s", d.Err, kind, object, text)
	}
}

// succeeded checks that a reduce was answered once, with a result.
func succeeded(t *testing.T, out <-chan storenode.Reduced) storenode.ReduceResult {
	t.Helper()
	synctest.Wait()
	if len(out) != 1 {
		t.Fatalf("answered %d times, want once", len(out))
	}
	d := <-out
	if d.Err != nil {
		t.Fatal(d.Err)
	}
	return d.Result
}

func TestABeginThatIsRefused(t *testing.T) {
	bubble(t, 10, func(t *testing.T, b *bed) {
		out := b.reduce(sumAB)
		begin := reply[directory.Begin](b, directory.Result{Kind: phalanx.ErrExists, Text: "it is taken"})
		if begin.Maker != directory.ByReduce || begin.Tag == "" || begin.Run == 0 || begin.Meta.Size != phalanx.UnknownSize {
			t.Errorf("asked for %+v", begin)
		}
		failed(t, out, phalanx.ErrExists, "sum", "it is taken")
		none[directory.Abort](b)
		b.over()
	})
}

func TestABadRequestAsksNobody(t *testing.T) {
	bubble(t, 10, func(t *testing.T, b *bed) {
		out := b.reduce(storenode.Reduce{Target: "sum", Sources: ab, Op: phalanx.Sum, Num: 3})
		failed(t, out, phalanx.ErrInvalid, "sum", "3 of 2 sources")
		if all := b.dir.all(func(*ask) bool { return true }); len(all) != 0 {
			t.Errorf("asked for %+v", all[0].body)
		}
		b.over()
	})
}

// The same request attaches to the one that runs elsewhere, and gets its answer.
func TestTheSameRequestAttaches(t *testing.T) {
	bubble(t, 10, func(t *testing.T, b *bed) {
		out := b.reduce(sumAB)
		first := reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(1), Attached: "other#1"})
		b.ask(t, 300*time.Millisecond) // again, until it is final
		again := reply[directory.Begin](b, directory.Result{State: directory.Finished, Gen: gen(2), Meta: large, Digest: phalanx.Digest{7},
			Note: reduce.Note(ab, ab[1:])})
		if first.Tag != again.Tag {
			t.Errorf("asked with %q and %q", first.Tag, again.Tag)
		}
		r := succeeded(t, out)
		want := storenode.ReduceResult{Info: storenode.Info{Object: "sum", Gen: gen(2), Meta: large, Digest: phalanx.Digest{7}}, In: []phalanx.ObjectID{"b"}, Out: []phalanx.ObjectID{"a"}}
		if !reflect.DeepEqual(r, want) {
			t.Errorf("got %+v, want %+v", r, want)
		}
		if b.running() != 0 {
			t.Error("it runs places for another's reduce")
		}
		b.over()
	})
}

// ask waits, and checks that Begin is asked again meanwhile.
func (b *bed) ask(t *testing.T, d time.Duration) {
	t.Helper()
	none[directory.Begin](b)
	b.pass(d)
	asked[directory.Begin](b)
}

func TestTagsTellRequestsApart(t *testing.T) {
	bubble(t, 10, func(t *testing.T, b *bed) {
		tags := map[string]int{}
		for i, r := range []storenode.Reduce{sumAB,
			{Target: "sum", Sources: ab, Op: phalanx.Sum, Num: 2}, // the same
			{Target: "sum", Sources: ab, Op: phalanx.Sum, Num: 1},
			{Target: "sum", Sources: ab, Op: phalanx.Min},
			{Target: "sum", Sources: []phalanx.ObjectID{"b", "a"}, Op: phalanx.Sum},
			{Target: "sum", Sources: []phalanx.ObjectID{"a b", "b"}, Op: phalanx.Sum},
		} {
			b.reduce(r)
			begin := reply[directory.Begin](b, directory.Result{Kind: phalanx.ErrExists})
			if before, ok := tags[begin.Tag]; ok != (i == 1) {
				t.Errorf("request %d has the tag of %d: %v", i, before, ok)
			}
			tags[begin.Tag] = i
		}
	})
}

// A reduce of places: commands, their acknowledgements, the root's report, the
// end.
func TestPlaces(t *testing.T) {
	bubble(t, 10, func(t *testing.T, b *bed) {
		out := b.reduce(sumAB)
		reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(5)})
		if _, ok := b.env.Tree("sum"); ok {
			t.Error("there is a tree before the first source")
		}
		b.ready("a", large, "n1#1")
		b.ready("b", large, "n2#1")
		root, rp := b.place(0)
		leaf, lp := b.place(1)
		if rp.state.TargetGen != gen(5) || rp.state.Attempt != 1 || !rp.state.Root || lp.state.Parent.Node != root.node || lp.state.Reduce != gen(5) {
			t.Errorf("told %+v and %+v", rp.state, lp.state)
		}
		tree, ok := b.env.Tree("sum")
		if !ok || tree.Size != large.Size || tree.Degree == 0 || len(tree.Places) != 2 || tree.Places[0].Node != root.node || tree.Places[0].Parent != -1 ||
			tree.Places[1].Node != leaf.node || tree.Places[1].Parent != 0 || tree.Places[1].Gen != lp.state.Gen {
			t.Errorf("the tree is %+v, %v", tree, ok)
		}
		b.rootDone(phalanx.Digest{9})
		final := reply[directory.Final](b, directory.Result{State: directory.Finished, Gen: gen(5)})
		if final.Gen != gen(5) || !final.Meta.Equal(large) || final.Digest != (phalanx.Digest{9}) || !bytes.Equal(final.Note, reduce.Note(ab, ab)) {
			t.Errorf("finalised %+v, %x", final, final.Note)
		}
		r := succeeded(t, out)
		if r.Gen != gen(5) || r.Digest != (phalanx.Digest{9}) || !r.Meta.Equal(large) || !slices.Equal(r.In, ab) || len(r.Out) != 0 {
			t.Errorf("got %+v", r)
		}
		if n := b.running(); n != 0 {
			t.Errorf("%d places go on", n)
		}
		for _, w := range []*worker{root, leaf} {
			if s, ok := w.orders[len(w.orders)-1].(reduce.Stop); !ok || !s.Final {
				t.Errorf("%s was told %+v in the end", w.node, w.orders[len(w.orders)-1])
			}
		}
		if !b.has(actors.ReduceCompleted{Target: "sum", Generation: gen(5), Num: 2}) {
			t.Errorf("published %+v", b.events)
		}
		b.over()
	})
}

// A place whose actor ends, or whose node is down, is lost, and its source gets
// another where it has a copy.
func TestAPlaceIsReplaced(t *testing.T) {
	for name, lose := range map[string]func(b *bed, w *worker, p *workerPlace){
		"its actor ends": func(b *bed, w *worker, p *workerPlace) {
			b.mu.Lock()
			delete(w.places, p.state.Place)
			b.mu.Unlock()
			_ = b.sys.Root.StopFuture(p.pid).Wait()
		},
		"its node is down": func(b *bed, w *worker, p *workerPlace) {
			b.mu.Lock()
			delete(w.places, p.state.Place)
			b.mu.Unlock()
			b.env.NodeGone(w.node, true)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 10, func(t *testing.T, b *bed) {
				out := b.reduce(sumAB)
				reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(5)})
				b.ready("a", large, "n1#1", "n3#1")
				b.ready("b", large, "n2#1", "n3#1")
				w, p := b.place(1)
				was, source := w.node, p.state.Source
				lose(b, w, p)
				b.pass(10 * time.Second) // also of the time for which a node is barred
				if _, next := b.place(1); next.state.Source != source || next.state.Gen.Compare(p.state.Gen) <= 0 {
					t.Errorf("%+v replaces %+v", next.state, p.state)
				}
				started, lost, replaced, cleared := 0, false, false, false
				for _, ev := range b.events {
					switch ev := ev.(type) {
					case actors.ReduceStarted:
						started++
					case actors.PlaceLost:
						lost = ev.Target == "sum" && ev.Place == 1 && ev.Node == was
					case actors.PlaceReplaced:
						replaced = ev.Place == 1 && ev.Source == source
					case actors.AncestorsCleared:
						cleared = slices.Equal(ev.Cleared, []int{0}) && strings.HasPrefix(ev.Cause, "place 1 was lost, ")
					}
				}
				if started != 1 || !lost || !replaced || !cleared {
					t.Errorf("published %+v", b.events)
				}
				if again := reply[directory.Restart](b, directory.Result{State: directory.Begun, Gen: gen(6)}); again.Gen != gen(5) || again.Run == 0 {
					t.Errorf("restarted %v of run %d", again.Gen, again.Run)
				}
				if _, root := b.place(0); root.state.Children[0].Gen.Compare(p.state.Gen) <= 0 {
					t.Errorf("the root still reads %+v", root.state.Children)
				}
				b.rootDone(phalanx.Digest{9})
				reply[directory.Final](b, directory.Result{State: directory.Finished, Gen: gen(6)})
				succeeded(t, out)
			})
		})
	}
}

// The actor of a place has ended, or the connection to it broke: the place may run then.
func TestWhyAPlaceIsLost(t *testing.T) {
	for why, text := range map[actor.TerminatedReason]string{actor.TerminatedReason_Stopped: "panic", actor.TerminatedReason_AddressTerminated: "suspected"} {
		bubble(t, 10, func(t *testing.T, b *bed) {
			b.reduce(sumAB)
			reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(5)})
			b.ready("a", large, "n1#1")
			b.ready("b", large, "n2#1")
			_, p := b.place(1)
			b.sys.Root.Send(p.coordinator, &actor.Terminated{Who: p.pid, Why: why})
			synctest.Wait()
			lost := slices.ContainsFunc(b.events, func(ev any) bool {
				l, ok := ev.(actors.PlaceLost)
				return ok && l.Place == 1 && strings.Contains(l.Cause, text)
			})
			if !lost {
				t.Errorf("%v: published %+v", why, b.events)
			}
		})
	}
}

// A node that leaves begins no Reduce.
func TestAReduceOfANodeThatLeaves(t *testing.T) {
	bubble(t, 10, func(t *testing.T, b *bed) {
		b.env.Store.Leave()
		failed(t, b.reduce(sumAB), phalanx.ErrClosed, "sum", "leaving")
		if n := b.env.Running(); n > 0 {
			t.Errorf("%d run", n)
		}
		b.env.Store.Stay()
		if b.reduce(sumAB); b.env.Running() != 1 {
			t.Error("it begins none after it has stayed")
		}
	})
}

// The owner named a node that has left the view. No later message will repeat that it left.
func TestAStranger(t *testing.T) {
	bubble(t, 10, func(t *testing.T, b *bed) {
		b.gone = "n1#1"
		out := b.reduce(sumAB)
		reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(5)})
		b.ready("a", large, "n1#1")
		b.ready("b", large, "n2#1")
		b.pass(time.Second)
		if n := b.running(); n != 1 {
			t.Errorf("%d places run", n)
		}
		b.ready("a", large, "n1#1", "n3#1")
		b.pass(time.Second)
		if n := b.running(); n != 2 {
			t.Fatalf("%d places run", n)
		}
		b.rootDone(phalanx.Digest{9})
		for _, a := range b.dir.pending(func(a *ask) bool { _, ok := a.body.(directory.Restart); return ok }) {
			b.dir.answer(a, directory.Result{State: directory.Begun, Gen: gen(6)})
			b.pass(time.Second)
			b.rootDone(phalanx.Digest{9})
		}
		reply[directory.Final](b, directory.Result{State: directory.Finished, Gen: gen(6)})
		succeeded(t, out)
	})
}

// Small sources are combined here, in the order in which they came, and go to
// the directory with the answer.
func TestInline(t *testing.T) {
	bubble(t, 10, func(t *testing.T, b *bed) {
		out := b.reduce(storenode.Reduce{Target: "sum", Sources: []phalanx.ObjectID{"a", "b", "c"}, Op: phalanx.Sum, Num: 2})
		begin := reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(5)})
		b.pass(time.Second) // the coordinator waits no more for sources that are ready at the start
		b.small("c", 1.5)
		b.small("a", 2)
		put := reply[directory.PutInline](b, directory.Result{State: directory.Finished, Gen: gen(5)})
		if math.Float32frombits(binary.LittleEndian.Uint32(put.Bytes)) != 3.5 || put.Gen != gen(5) || put.Tag != begin.Tag || !bytes.Equal(put.Note, reduce.Note([]phalanx.ObjectID{"a", "b", "c"}, []phalanx.ObjectID{"a", "c"})) {
			t.Errorf("put %+v, %x", put, put.Note)
		}
		if r := succeeded(t, out); r.Meta.Size != 4 || !slices.Equal(r.In, []phalanx.ObjectID{"a", "c"}) || !slices.Equal(r.Out, []phalanx.ObjectID{"b"}) {
			t.Errorf("got %+v", r)
		}
		if b.running() != 0 {
			t.Error("there are places")
		}
		b.over()
	})
}

// small tells that a source of one float32 is final.
func (b *bed) small(id phalanx.ObjectID, v float32) {
	b.tell(directory.Readiness{Object: id, State: directory.Finished, Gen: gen(1), Meta: phalanx.Meta{Size: 4, DType: phalanx.Float32}, Inline: true,
		Bytes: binary.LittleEndian.AppendUint32(nil, math.Float32bits(v))})
}

func TestCancel(t *testing.T) {
	bubble(t, 10, func(t *testing.T, b *bed) {
		ctx, cancel := context.WithCancel(context.Background())
		over := make(chan error, 1)
		go func() {
			_, err := b.env.Run(ctx, sumAB, nil)
			over <- err
		}()
		begun := reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(5)})
		b.ready("a", large, "n1#1")
		b.pass(time.Second)
		b.place(1)
		cancel()
		if err := <-over; !errors.Is(err, phalanx.ErrCanceled) {
			t.Errorf("ended with %v", err)
		}
		if a := reply[directory.Abort](b, directory.Result{}); a.Gen != gen(5) || a.Run == 0 || a.Run != begun.Run {
			t.Errorf("released %v of run %d, begun by run %d", a.Gen, a.Run, begun.Run)
		}
		if n := b.running(); n != 0 {
			t.Errorf("%d places go on", n)
		}
		b.over()
	})
}

// A deadline's error names the cause: the directory, a source, or neither.
func TestTheDeadlineNamesWhatIsMissing(t *testing.T) {
	for _, c := range []struct {
		name   string
		object phalanx.ObjectID
		text   string
		do     func(b *bed)
	}{
		{"the directory", "sum", "the directory has not answered yet", func(*bed) {}},
		{"another coordinator", "sum", "another coordinator has not finished the target yet", func(b *bed) {
			reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(5), Attached: "other#1"})
		}},
		{"a source", "b", "1 of 2 sources are ready, 2 are needed", func(b *bed) {
			reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(5)})
			b.ready("a", large, "n1#1")
		}},
		{"bytes", "sum", "2 sources are ready, but the result is not complete yet", func(b *bed) {
			reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(5)})
			b.ready("a", large, "n1#1")
			b.ready("b", large, "n2#1")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, 10, func(t *testing.T, b *bed) {
				r := sumAB
				r.Deadline = 3 * time.Second
				out := b.reduce(r)
				c.do(b)
				b.pass(2900 * time.Millisecond)
				if len(out) != 0 {
					t.Fatal("answered too early")
				}
				b.pass(200 * time.Millisecond)
				failed(t, out, phalanx.ErrDeadline, c.object, c.text)
			})
		})
	}
}

// A silent owner of the target ends the reduce for its caller at every step. The coordinator
// takes back the owner's work once it answers.
func TestTheOwnerIsSilent(t *testing.T) {
	t.Run("at the begin", func(t *testing.T) {
		bubble(t, 10, func(t *testing.T, b *bed) {
			out := b.reduce(sumAB)
			a, _ := asked[directory.Begin](b)
			b.dir.fallsSilent(a.num)
			failed(t, out, phalanx.ErrUnavailable, "sum", "it is silent")
			reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(5)})
			reply[directory.Abort](b, directory.Result{})
			b.over()
		})
	})
	t.Run("as it waits for sources", func(t *testing.T) {
		bubble(t, 10, func(t *testing.T, b *bed) {
			out := b.reduce(sumAB)
			reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(5)})
			b.ready("a", large, "n1#1")
			b.pass(time.Second)
			b.place(1)
			for num, w := range b.dir.watches {
				if w.id == "sum" {
					b.dir.fallsSilent(num)
				}
			}
			failed(t, out, phalanx.ErrUnavailable, "sum", "it is silent")
			if n := b.running(); n != 0 {
				t.Errorf("%d places go on", n)
			}
			reply[directory.Abort](b, directory.Result{})
			b.over()
		})
	})
}

// A Delete of the target ends a reduce that waits for sources.
func TestTheTargetIsDeleted(t *testing.T) {
	bubble(t, 10, func(t *testing.T, b *bed) {
		out := b.reduce(sumAB)
		reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(5)})
		b.ready("a", large, "n1#1")
		b.pass(time.Second)
		b.tell(directory.Readiness{Object: "sum", State: directory.Begun, Gen: gen(5)})
		b.place(1)
		b.tell(directory.Readiness{Object: "sum", State: directory.Deleted, Gen: gen(5)})
		failed(t, out, phalanx.ErrDeleted, "sum", "the object was deleted")
		if n := b.running(); n != 0 {
			t.Errorf("%d places go on", n)
		}
		none[directory.Abort](b)
		b.over()
	})
}

// A target that was deleted and put again since ends the reduce too: its watch may never
// have seen it deleted. A delete before the reduce began does not end it.
func TestTheTargetIsDeletedAndPutAgain(t *testing.T) {
	bubble(t, 10, func(t *testing.T, b *bed) {
		out := b.reduce(sumAB)
		reply[directory.Begin](b, directory.Result{Kind: phalanx.ErrDeleted, Gen: gen(4)})
		if again := reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(5)}); again.After != gen(4) {
			t.Errorf("it begins again with %+v", again)
		}
		b.ready("a", large, "n1#1")
		b.pass(time.Second)
		b.tell(directory.Readiness{Object: "sum", State: directory.Deleted, Gen: gen(4)}) // late
		b.tell(directory.Readiness{Object: "sum", State: directory.Begun, Gen: gen(5), After: gen(4)})
		if len(out) != 0 {
			t.Error("it ends although the target was deleted before it")
		}
		b.place(1)
		b.tell(directory.Readiness{Object: "sum", State: directory.Finished, Gen: gen(6), After: gen(5)})
		failed(t, out, phalanx.ErrDeleted, "sum", "the object was deleted")
		none[directory.Abort](b)
		b.over()
	})
}

// A node that leaves answers its callers, and releases nothing: the view does.
func TestClose(t *testing.T) {
	bubble(t, 10, func(t *testing.T, b *bed) {
		out := b.reduce(sumAB)
		reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(5)})
		b.env.Close()
		failed(t, out, phalanx.ErrClosed, "sum", "left the cluster")
		none[directory.Abort](b)
		failed(t, b.reduce(sumAB), phalanx.ErrClosed, "sum", "left the cluster")
		b.over()
	})
}

// The owner may release the binding of the Reduce that this one follows, or tell of an older
// delete: neither ends this one. A delete of the generation that it follows does.
func TestWhatIsFollowedIsReleased(t *testing.T) {
	for name, test := range map[string]struct {
		deleted phalanx.Generation
		ends    bool
	}{"released": {gen(3), false}, "deleted": {gen(5), true}} {
		bubble(t, 10, func(t *testing.T, b *bed) {
			out := b.reduce(sumAB)
			reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(5), Attached: "n2#1"})
			b.pass(5 * time.Second)
			reply[directory.Begin](b, directory.Result{Kind: phalanx.ErrDeleted, Text: "the object was deleted", Gen: gen(5), Deleted: test.deleted})
			if test.ends {
				failed(t, out, phalanx.ErrDeleted, "sum", "the object was deleted")
				b.over()
				return
			}
			if again := reply[directory.Begin](b, directory.Result{State: directory.Begun, Gen: gen(6)}); again.After != gen(5) {
				t.Errorf("%s: it begins again with %+v", name, again)
			}
			if len(out) != 0 {
				t.Errorf("%s: it ends", name)
			}
			b.ready("a", large, "n1#1")
			b.ready("b", large, "n2#1")
			b.pass(time.Second)
			b.rootDone(phalanx.Digest{9})
			reply[directory.Final](b, directory.Result{State: directory.Finished, Gen: gen(6)})
			succeeded(t, out)
			b.over()
		})
	}
}
