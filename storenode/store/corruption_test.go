package store

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/poll"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/transfer"
	"github.com/phalanx-go/phalanx/storenode"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// An owner that asks for the digest of a copy is told that of the bytes as they are now.
// A copy of which one bit has changed in memory has none, and goes.
func TestACheckLooksAtTheBytesAgain(t *testing.T) {
	const large = 3*dataplane.PieceSize + 100
	for _, size := range []int64{100, large} {
		for _, flipped := range []int64{-1, 0, size / 2, size - 1} {
			t.Run(fmt.Sprintf("%d bytes, %d changed", size, flipped), func(t *testing.T) {
				storeBubble(t, func(t *testing.T, e *Env, d *scripted) {
					bytes := make([]byte, size)
					for i := range bytes {
						bytes[i] = byte(i * i)
					}
					digest := dataplane.DigestBytes(bytes)
					info := storenode.Info{Object: "x", Gen: first, Meta: phalanx.Meta{Size: size}, Digest: digest}
					if size < large {
						if !e.Table.budget.TryReserve(size) {
							t.Fatal("there is no room")
						}
						e.Table.release(e.Table.keepInline(info, bytes, "", true))
					} else {
						c := arriving(t, e.Pool, e.Table, "x", first, size)
						if _, err := c.buffer.Write(bytes); err != nil {
							t.Fatal(err)
						}
						if !e.Table.finish(c, info.Meta, digest, true) {
							t.Fatal("it is not complete")
						}
						bytes = c.buffer.Bytes(0, size)
					}
					want := digest
					if flipped >= 0 {
						bytes[flipped] ^= 4
						want = phalanx.Digest{}
					}
					e.send(e.StorePID, Pushed{From: "o", Push: directory.Push{To: "me", Object: "x", Order: directory.PushCheck, Gen: first, Digest: digest}})
					synctest.Wait()
					told, dropped := 0, false
					for _, r := range d.reports {
						switch b := r.Body.(type) {
						case directory.Checked:
							if told++; b != (directory.Checked{Gen: first, Digest: want}) {
								t.Errorf("told is %v, not digest %v", b, want)
							}
						case directory.Drop:
							dropped = true
						}
					}
					if there := e.Table.lookup("x") != nil; told != 1 || dropped == there || there != (flipped < 0) {
						t.Errorf("told %d times; dropped: %v; there: %v", told, dropped, there)
					}
				})
			})
		}
	}
}

// A node looks at one copy at a time, and once at each, however often it is asked meanwhile.
func TestChecksWaitForEachOther(t *testing.T) {
	storeBubble(t, func(t *testing.T, e *Env, d *scripted) {
		for i := range 20 {
			small(t, e.Table, phalanx.ObjectID(fmt.Sprint("o", i)), 30, true)
		}
		e.checking.Lock()
		for range 3 { // an owner repeats its question
			for i := range 20 {
				e.check(phalanx.ObjectID(fmt.Sprint("o", i)), first)
			}
		}
		e.checking.Unlock()
		synctest.Wait()
		told := 0
		for _, r := range d.reports {
			if _, ok := r.Body.(directory.Checked); ok {
				told++
			}
		}
		if told != 20 {
			t.Errorf("of 20 copies, %d answers", told)
		}
		if left := len(e.active.checks); left != 0 {
			t.Errorf("%d checks run for ever", left)
		}
	})
}

// A check that waits for its turn when the node is removed leaves the copy, and the answer
// about it, to the node's next life.
func TestACheckEndsWithItsLife(t *testing.T) {
	storeBubble(t, func(t *testing.T, e *Env, d *scripted) {
		b := make([]byte, 30)
		if !e.Table.budget.TryReserve(30) {
			t.Fatal("there is no room")
		}
		e.Table.release(e.Table.keepInline(storenode.Info{Object: "x", Gen: first, Meta: phalanx.Meta{Size: 30}, Digest: dataplane.DigestBytes(b)}, b, "", true))
		e.checking.Lock() // another copy is looked at
		e.check("x", first)
		e.active.mu.Lock()
		e.active.closed = true
		e.active.mu.Unlock()
		b[3] ^= 4
		e.checking.Unlock()
		synctest.Wait()
		if e.Table.lookup("x") == nil {
			t.Error("the copy is dropped")
		}
		for _, r := range d.reports {
			switch r.Body.(type) {
			case directory.Drop, directory.Checked:
				t.Errorf("told is %#v", r.Body)
			}
		}
	})
}

// No checks came with inline bytes. A node does not make checks of such bytes that have changed in
// memory: receivers would take them for the origin's bytes.
func TestInlineBytesThatHaveChangedAreNotSent(t *testing.T) {
	for _, flip := range []byte{0, 4} {
		env, d := alone(t), &scripted{locates: map[uint64]func(phalanx.NodeID, directory.Result){}}
		env.Directory, env.Fanout = d, 1
		b := []byte("some small object")
		info := storenode.Info{Object: "o", Gen: first, Meta: phalanx.Meta{Size: int64(len(b))}, Digest: dataplane.DigestBytes(b)}
		if !env.Pool.Budget().TryReserve(info.Meta.Size) {
			t.Fatal("there is no room")
		}
		env.Table.release(env.Table.keepInline(info, b, "", true))
		b[3] ^= flip
		stream := streamTo(t, env, dataplane.Request{Kind: dataplane.Object, Object: "o", Generation: first})
		_, err := io.ReadAll(stream)
		var end *dataplane.Ended
		if bad := errors.As(err, &end) && end.Reason == dataplane.Gone && end.Kind == phalanx.ErrCorrupt; bad != (flip != 0) || !bad && err != nil {
			t.Errorf("with %d flipped it ends with %v", flip, err)
		}
		if gone := func() bool { return env.Table.lookup("o") == nil }; flip == 0 && gone() || flip != 0 && !poll.Holds(gone) {
			t.Errorf("with %d flipped the copy is dropped: %v", flip, flip == 0)
		}
	}
}

// The bytes of a Put change before its owner has recorded the object. The node has found that, so it drops the
// copy as soon as that is complete, whether the Put hears of it first or the node.
func TestACopyThatHasChangedIsDroppedOnceComplete(t *testing.T) {
	for _, settled := range []bool{false, true} {
		for _, changed := range []bool{false, true} {
			storeBubble(t, func(t *testing.T, e *Env, d *scripted) {
				c := arriving(t, e.Pool, e.Table, "x", first, 100)
				c.Origin = true
				e.places = &Places{env: e}
				if changed {
					e.corrupted(c, &dataplane.BadPiece{})
				}
				if settled {
					e.keepOrigin(c, c.Meta, phalanx.Digest{1}, true)
				} else {
					p := &put{env: e, req: storenode.Put{Object: "x"}, copy: c}
					p.has.Show()
					p.keep(first, c.Meta, phalanx.Digest{1})
				}
				synctest.Wait()
				reported := slices.ContainsFunc(d.reports, func(r directory.Request) bool { return r.Body == directory.Drop{Gen: first} })
				if gone := e.Table.lookup("x") == nil; gone != changed || reported != changed {
					t.Errorf("settled: %v, changed: %v: it is gone: %v, and its owner was told: %v", settled, changed, gone, reported)
				}
			})
		}
	}
}

// A fetch begins a generation anew, since a part of it has changed in memory, while it takes the rest
// from a Put. That rest completes the old part, not the fetch's present copy.
func TestAPutCompletesThePartThatItHasFilled(t *testing.T) {
	storeBubble(t, func(t *testing.T, e *Env, d *scripted) {
		digest, meta := phalanx.Digest{1}, phalanx.Meta{Size: 100}
		a := &arrival{object: "x", num: 1, calls: map[uint64]*call{}}
		f := &fetcher{env: e, object: "x", arrival: a, store: e.StorePID, core: transfer.NewReceiver(transfer.Config{Self: e.Self, Object: "x", Room: 100, FirstNum: 1})}
		f.core.Step(0, transfer.Want{Caller: 1, Wait: true})
		f.core.Step(0, transfer.Answered{Num: 1, State: transfer.Finished, Gen: first, Meta: meta, Digest: digest, Lease: 1, Sender: "s"})
		old := arriving(t, e.Pool, e.Table, "x", first, 100)
		e.Table.drop(old, errOver)
		f.setCopy(arriving(t, e.Pool, e.Table, "x", first, 100))
		whole := transfer.Whole{Gen: first, Size: 100, Digest: digest}
		if f.suppliedAll(suppliedAll{old, whole}); f.core.Over() {
			t.Error("a copy without bytes is complete")
		}
		if f.suppliedAll(suppliedAll{f.copy, whole}); !f.core.Over() {
			t.Error("the copy is not complete")
		}
		f.setCopy(nil)
	})
}
