package transfer_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/transfer"
)

var gens = rapid.Custom(func(t *rapid.T) phalanx.Generation {
	return phalanx.Generation{Epoch: 1, Seq: rapid.Uint64Range(1, 3).Draw(t, "gen")}
})

var digests = rapid.Custom(func(t *rapid.T) phalanx.Digest {
	return phalanx.Digest{byte(rapid.IntRange(1, 2).Draw(t, "digest"))}
})

func answers(t *rapid.T, num uint64) transfer.Answered {
	a := transfer.Answered{Num: num, State: transfer.State(rapid.IntRange(0, 4).Draw(t, "state")), Gen: gens.Draw(t, "of"),
		Meta: phalanx.Meta{Size: rapid.SampledFrom([]int64{phalanx.UnknownSize, 100}).Draw(t, "size")}, Digest: digests.Draw(t, "digest")}
	switch rapid.IntRange(0, 9).Draw(t, "answer") {
	case 0:
		a.Kind = phalanx.ErrDeleted
	case 1, 2:
		a.Waiting = true
	case 3:
		a.Inline = true
	case 4: // the size
	default:
		a.Lease, a.Sender = rapid.Uint64Range(1, 99).Draw(t, "lease"), "s"
	}
	return a
}

func orders(t *rapid.T) transfer.Pushed {
	return transfer.Pushed{Order: transfer.Order(rapid.IntRange(0, 3).Draw(t, "order")), Gen: gens.Draw(t, "of"),
		Meta: phalanx.Meta{Size: 100}, Digest: digests.Draw(t, "digest")}
}

// revokes reports whether ev says that the owner has taken back what a receiver reads.
func revokes(ev transfer.Event, read phalanx.Generation) bool {
	switch ev := ev.(type) {
	case transfer.Pushed:
		return ev.Order != transfer.OrderFinal && !ev.Gen.Less(read)
	case transfer.Listed:
		switch {
		case ev.Kind != 0 || ev.Waiting:
		case ev.State == transfer.Deleted:
			return !ev.Gen.Less(read) || !ev.Of.Less(read)
		case ev.State == transfer.Unbound:
			return !ev.Of.Less(read)
		default:
			return ev.Of.Less(ev.Gen) && !ev.Gen.Less(read)
		}
	}
	return false
}

// TestReceiverRandom feeds a Receiver what an owner, senders and callers could say
// in any order. Generations that are read never fall (invariant 15), one stream
// is open at a time, each granted lease is given back, numbers rise, and the end
// comes once.
func TestReceiverRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := transfer.Config{Self: "r", Object: "x", Room: rapid.SampledFrom([]int64{0, 100}).Draw(t, "room"), FirstNum: 1}
		r, again := transfer.NewReceiver(cfg), transfer.NewReceiver(cfg)
		var now time.Duration
		var locate, stream, num uint64
		var read phalanx.Generation
		leased := map[uint64]uint64{} // lease → the Locate that it answered
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			var ev transfer.Event
			switch rapid.IntRange(0, 14).Draw(t, "event") {
			case 0:
				ev = transfer.Want{Caller: rapid.Uint64Range(1, 3).Draw(t, "caller"), Wait: rapid.Bool().Draw(t, "wait")}
			case 1:
				ev = transfer.Leave{Caller: rapid.Uint64Range(1, 3).Draw(t, "caller")}
			case 2:
				ev = transfer.Downstream{Streams: rapid.IntRange(0, 1).Draw(t, "streams")}
			case 3, 4, 5:
				ev = answers(t, locate-rapid.Uint64Range(0, min(1, locate)).Draw(t, "late"))
			case 6:
				ev = transfer.Reserved{Bytes: 100}
			case 7, 8:
				ev = transfer.Ended{Stream: stream, Why: transfer.Why(rapid.IntRange(0, 8).Draw(t, "why")), Gen: gens.Draw(t, "theirs")}
			case 9, 10:
				ev = transfer.Whole{Gen: gens.Draw(t, "of"), Size: 100, Digest: digests.Draw(t, "digest")}
			case 11:
				ev = transfer.Move{Lease: rapid.Uint64Range(1, 99).Draw(t, "lease")}
				if held := slices.Sorted(maps.Keys(leased)); len(held) > 0 {
					ev = transfer.Move{Lease: held[0]}
				}
			case 12:
				ev = transfer.Corrupted{Gen: gens.Draw(t, "of")}
			case 13:
				ev = transfer.Listed{Of: gens.Draw(t, "of"), Answered: answers(t, 0)}
			default:
				ev = orders(t)
			}
			if revokes(ev, read) {
				clear(leased) // the owner has ended them
			}
			now += time.Millisecond
			was := r.Over()
			effects := r.Step(now, ev)
			if second := again.Step(now, ev); fmt.Sprint(second) != fmt.Sprint(effects) {
				t.Fatalf("%+v has the effects %v, the second time %v", ev, effects, second)
			}
			if was && len(effects) > 0 {
				t.Fatalf("%v after the end", effects)
			}
			rise := func(n uint64) {
				if n <= num {
					t.Fatalf("number %d after %d", n, num)
				}
				num = n
			}
			ended, ends := false, 0
			for _, e := range effects {
				switch e := e.(type) {
				case transfer.Locate:
					rise(e.Num)
					locate = e.Num
				case transfer.Cancel:
					for l, by := range leased {
						if by == e.Num {
							delete(leased, l)
						}
					}
				case transfer.ReportDone:
					rise(e.Num)
					delete(leased, e.Lease)
				case transfer.ReportFailed:
					rise(e.Num)
					delete(leased, e.Lease)
				case transfer.ReportCorrupt:
					rise(e.Num)
				case transfer.ReportDrop:
					rise(e.Num)
					clear(leased)
				case transfer.Announce:
					rise(e.Num)
				case transfer.Open:
					rise(e.Stream)
					if e.Gen.Less(read) {
						t.Fatalf("(15) %v is read after %v", e.Gen, read)
					}
					if x, ok := ev.(transfer.Ended); stream != 0 && !(ok && x.Stream == stream) {
						t.Fatalf("stream %d is opened while %d is open", e.Stream, stream)
					}
					read, stream = e.Gen, e.Stream
					leased[e.Lease] = locate
				case transfer.Close:
					if e.Stream != stream {
						t.Fatalf("stream %d is closed, %d is open", e.Stream, stream)
					}
					stream, ended = 0, true
				case transfer.Complete, transfer.Discard:
					ends++
				}
			}
			w, whole := ev.(transfer.Whole)
			whole = whole && w.Gen == read
			if x, ok := ev.(transfer.Ended); !ended && (ok && x.Stream == stream && !slices.ContainsFunc(effects, opens) || whole) {
				stream = 0
			}
			if r.Over() && !was && ends != 1 || !r.Over() && ends > 0 {
				t.Fatalf("over %v after %v", r.Over(), effects)
			}
		}
		if r.Over() && len(leased) > 0 {
			t.Fatalf("the leases %v are left over", leased)
		}
	})
}

func opens(e transfer.Effect) bool {
	_, ok := e.(transfer.Open)
	return ok
}

// TestCreatorRandom does so for a Creator: its end is told once, what was bound is
// finished or released, and what may be final is kept until that is known.
func TestCreatorRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := transfer.CreatorConfig{Self: "c", Object: "x", Meta: phalanx.Meta{Size: rapid.SampledFrom([]int64{phalanx.UnknownSize, 5, 100}).Draw(t, "size")},
			Copies: rapid.IntRange(0, 2).Draw(t, "copies"), InlineLimit: 64, FirstNum: 1}
		c, again := transfer.NewCreator(cfg), transfer.NewCreator(cfg)
		size := cfg.Meta.Size
		if size == phalanx.UnknownSize {
			size = rapid.SampledFrom([]int64{5, 100}).Draw(t, "real size")
		}
		var asked, num uint64
		told, filled, filling := 0, false, false
		var finishing, final bool
		var deleted phalanx.Generation
		for range rapid.IntRange(1, 40).Draw(t, "events") {
			var ev transfer.CreatorEvent
			switch rapid.IntRange(0, 9).Draw(t, "event") {
			case 0, 1:
				ev = transfer.Start{}
			case 2:
				ev = transfer.FirstPiece{}
			case 3, 4:
				if filled || !filling {
					continue
				}
				filled = true
				ev = transfer.Filled{Size: size, Digest: digests.Draw(t, "digest")}
			case 5, 6, 7:
				a := answers(t, asked-rapid.Uint64Range(0, min(1, asked)).Draw(t, "late"))
				a.Meta.Size = size
				final = final || finishing && a.Num == asked && a.Kind == 0 && !a.Waiting && deleted.Less(a.Gen)
				ev = a
			case 8:
				o := orders(t)
				if o.Order == transfer.OrderDrop && deleted.Less(o.Gen) {
					deleted = o.Gen
				}
				ev = o
			default:
				ev = transfer.Stop{Err: &phalanx.Error{Kind: phalanx.ErrCanceled}}
			}
			was := c.Over()
			effects := c.Step(0, ev)
			if second := again.Step(0, ev); fmt.Sprint(second) != fmt.Sprint(effects) {
				t.Fatalf("%+v has the effects %v, the second time %v", ev, effects, second)
			}
			if was && len(effects) > 0 {
				t.Fatalf("%v after the end", effects)
			}
			ask := func(n uint64, finish bool) {
				if n <= num {
					t.Fatalf("number %d after %d", n, num)
				}
				num, asked, finishing = n, n, finish
			}
			for _, e := range effects {
				switch e := e.(type) {
				case transfer.Bind:
					ask(e.Num, false)
				case transfer.BindInline:
					ask(e.Num, true)
				case transfer.Finish:
					ask(e.Num, true)
				case transfer.AwaitCopies:
					ask(e.Num, false)
				case transfer.Fill:
					if filling {
						t.Fatalf("the source is read twice")
					}
					filling = true
				case transfer.Created, transfer.NotCreated:
					told++
				case transfer.Discard:
					if final {
						t.Fatalf("what is final is dropped by %+v", ev)
					}
				}
			}
			if told > 1 || c.Over() && told == 0 {
				t.Fatalf("the caller was told %d times", told)
			}
		}
	})
}
