package leave

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// here is a node and its cluster, as far as a leaving node sees them.
type here struct {
	t     *testing.T
	core  *Core
	now   time.Duration
	did   []string // effects, in order
	what  Here
	view  Viewed
	asked []Ask
	goes  uint64 // the last Remove names this view; 0: there was none
	ended Effect
}

func begin(t *testing.T, deadline time.Duration, stay int) *here {
	h := &here{t: t, core: New(Config{Deadline: deadline, AtOnce: 2}), view: Viewed{Number: 5, Member: true, Others: stay, Stay: stay, Shards: 2}}
	h.step(h.view)
	h.step(Start{})
	return h
}

func (h *here) step(ev Event) {
	for _, e := range h.core.Step(h.now, ev) {
		h.did = append(h.did, strings.TrimPrefix(fmt.Sprintf("%T", e), "leave."))
		switch e := e.(type) {
		case Look:
			see := h.what
			if see.All = e.All; !e.All {
				see.Copies = nil
			}
			defer h.step(Saw{see})
		case Ask:
			h.asked = append(h.asked, e)
		case Remove:
			h.goes = e.View
		case Left, Failed:
			h.ended = e
		}
	}
}

func (h *here) learn(change func(*Viewed)) {
	h.view.Number++
	change(&h.view)
	h.step(h.view)
}

func (h *here) tick(d time.Duration) {
	h.now += d
	h.step(Tick{})
}

// answer has the owners of all that was asked about say that others keep it.
func (h *here) answer(k phalanx.Kind) {
	for len(h.asked) > 0 {
		a := h.asked[0]
		h.asked = h.asked[1:]
		h.step(Answered{Copy: a.Copy, Kind: k, Node: "o", Text: "no"})
	}
}

func (h *here) proposed(what string) bool { return slices.Contains(h.did, what) }

func copyOf(i int) Copy {
	return Copy{Object: phalanx.ObjectID(fmt.Sprint("x", i)), Gen: phalanx.Generation{Epoch: 1, Seq: uint64(i)}}
}

// A put that ends after the first look leaves a copy: the node looks again.
func TestLooksAgainAfterTheLastThingHasEnded(t *testing.T) {
	h := begin(t, 10*time.Second, 2)
	h.what = Here{Puts: []phalanx.ObjectID{"x1"}}
	if h.did[0] != "Refuse" {
		t.Fatalf("%v: it takes new things", h.did)
	}
	h.learn(func(v *Viewed) { v.Marked = true })
	h.learn(func(v *Viewed) { v.Shards = 0 })
	h.tick(time.Second)
	h.what = Here{Copies: []Copy{copyOf(1)}}
	h.tick(time.Second)
	if len(h.asked) != 1 || h.asked[0].Copy != copyOf(1) || h.asked[0].View != 6 {
		t.Fatalf("asked %v", h.asked)
	}
	if h.proposed("Remove") {
		t.Fatal("it goes with what nobody else has")
	}
	h.answer(0)
	if !h.proposed("Remove") {
		t.Fatalf("%v: it does not go", h.did)
	}
	h.learn(func(v *Viewed) { v.Member = false })
	if h.ended != (Left{}) {
		t.Errorf("%#v", h.ended)
	}
}

// A Get that ends while shards move leaves a copy, about which its owner may have been
// told before it knew that the node leaves: the node looks once more before it goes, and
// again as long as that finds something.
func TestLooksOnceMoreBeforeItGoes(t *testing.T) {
	h := begin(t, 10*time.Second, 2)
	h.learn(func(v *Viewed) { v.Marked = true })
	h.tick(time.Second)
	for i := range 3 {
		h.what.Copies = append(h.what.Copies, copyOf(i)) // a Get ends while the one before is handed over
		if i == 0 {
			h.learn(func(v *Viewed) { v.Shards = 0 })
		} else {
			a := h.asked[0]
			h.asked = nil
			h.step(Answered{Copy: a.Copy, Node: "o"})
		}
		if len(h.asked) != 1 || h.asked[0].Copy != copyOf(i) || h.proposed("Remove") {
			t.Fatalf("%v, asked %v", h.did, h.asked)
		}
	}
	h.answer(0)
	if !h.proposed("Remove") {
		t.Errorf("%v, asked %v: it does not go", h.did, h.asked)
	}
}

// Gets that leave copies again and again do not keep a node for ever.
func TestGetsDoNotHoldItUp(t *testing.T) {
	h := begin(t, 10*time.Second, 2)
	h.what = Here{Copies: []Copy{copyOf(0)}}
	h.learn(func(v *Viewed) { v.Marked, v.Shards = true, 0 })
	gets := 0
	for ; !h.proposed("Remove") && gets < 100; gets++ {
		h.what.Copies = append(h.what.Copies, copyOf(gets+1))
		a := h.asked[0]
		h.asked = h.asked[1:]
		h.step(Answered{Copy: a.Copy, Node: "o"})
	}
	if !h.proposed("Remove") {
		t.Errorf("it has not gone after %d Gets", gets)
	}
}

// A caller that goes away once the removal is proposed does not keep the node: the
// others may carry it out.
func TestCanceledAsItGoes(t *testing.T) {
	h := begin(t, 10*time.Second, 2)
	h.learn(func(v *Viewed) { v.Marked = true })
	h.learn(func(v *Viewed) { v.Shards = 0 })
	if !h.proposed("Remove") {
		t.Fatalf("%v: it does not go", h.did)
	}
	h.step(Cancel{})
	if h.ended != (Left{Unseen: true}) {
		t.Errorf("%#v", h.ended)
	}
}

// A member that kept a copy is gone: others are asked again, by a view that knows it.
func TestAsksAgainWhenAMemberIsGone(t *testing.T) {
	h := begin(t, 10*time.Second, 2)
	h.what = Here{Copies: []Copy{copyOf(1), copyOf(2), copyOf(3)}}
	h.tick(lookAgain)
	h.learn(func(v *Viewed) { v.Marked = true })
	if len(h.asked) != 2 {
		t.Fatalf("asked %v: not two at a time", h.asked)
	}
	h.answer(0)
	if h.proposed("Remove") {
		t.Fatal("its shards are here")
	}
	h.learn(func(v *Viewed) { v.Others, v.Stay, v.Left = 1, 1, v.Number })
	h.learn(func(v *Viewed) { v.Shards = 0 })
	if h.proposed("Remove") || len(h.asked) != 2 || h.asked[0].View != h.view.Left {
		t.Fatalf("%v, asked %v: it relies on what is gone", h.did, h.asked)
	}
	h.answer(phalanx.ErrUnavailable)
	h.tick(askAgain)
	h.answer(0)
	h.tick(askAgain)
	h.answer(0)
	if !h.proposed("Remove") {
		t.Fatalf("%v: it does not go", h.did)
	}
	h.tick(time.Hour)
	if h.ended != (Left{Unseen: true}) {
		t.Errorf("%#v: it has handed over all", h.ended)
	}
}

// Small copies do not wait for large ones, and more of them are asked about at a time.
func TestSmallCopiesFirst(t *testing.T) {
	h := begin(t, 10*time.Second, 2)
	small := 0
	for i := range 100 {
		c := copyOf(i)
		c.Small = i >= 50
		h.what.Copies = append(h.what.Copies, c)
	}
	h.core.saw(Here{Copies: h.what.Copies, All: true})
	h.learn(func(v *Viewed) { v.Marked = true })
	for _, a := range h.asked {
		if a.Small {
			small++
		}
	}
	if small != 2*smallAtOnce || len(h.asked) != small {
		t.Errorf("asked about %d, %d of them small", len(h.asked), small)
	}
}

// A node does not go while a service has something to hand over. After half of its time it goes without:
// it may be that it does not reach the members that are to take it.
func TestServicesHandOver(t *testing.T) {
	for _, ends := range []bool{true, false} {
		h := begin(t, 10*time.Second, 2)
		h.what = Here{Services: []string{"barriers"}}
		h.learn(func(v *Viewed) { v.Marked, v.Shards = true, 0 })
		h.tick(4 * time.Second)
		if h.proposed("Remove") {
			t.Fatal("it goes with what nobody else has")
		}
		if ends {
			h.what = Here{}
		}
		h.tick(900 * time.Millisecond)
		if h.proposed("Remove") != ends {
			t.Errorf("the service has handed over: %v; it goes: %v", ends, !ends)
		}
		h.tick(time.Second)
		if !h.proposed("Remove") && !ends || h.proposed("GiveUp") == ends {
			t.Errorf("the service has handed over: %v; the node does not go after half of its time, or gives up what was handed over", ends)
		}
	}
}

func TestSaysWhatRemains(t *testing.T) {
	h := begin(t, 10*time.Second, 2)
	h.what = Here{Puts: []phalanx.ObjectID{"p"}, Places: []phalanx.ObjectID{"t", "t"}, Copies: []Copy{copyOf(1), copyOf(2), copyOf(3), copyOf(4)}}
	h.learn(func(v *Viewed) { v.Marked = true })
	h.tick(time.Second)
	h.core.saw(Here{Puts: h.what.Puts, Places: h.what.Places, Copies: h.what.Copies, All: true})
	h.tick(4 * time.Second)
	if !h.proposed("GiveUp") {
		t.Errorf("%v: it waits for what may never end", h.did)
	}
	h.tick(5 * time.Second)
	f, ok := h.ended.(Failed)
	const want = `1 put has not ended ("p"); 2 places of reduces have not ended ("t", "t"); 4 objects were not handed over ("x1", "x2", "x3", …); 2 shards were not handed over`
	if !ok || f.Remains.Error() != want {
		t.Errorf("%#v: %v", h.ended, f.Remains)
	}
}

// Nobody stays, or nobody else is there: there is nobody to hand over to.
func TestNobodyStays(t *testing.T) {
	h := begin(t, 10*time.Second, 0)
	if h.ended != (Left{Alone: true}) {
		t.Errorf("alone: %#v", h.ended)
	}
	h = begin(t, 10*time.Second, 1)
	h.what = Here{Copies: []Copy{copyOf(1)}}
	h.tick(time.Millisecond)
	h.learn(func(v *Viewed) { v.Marked, v.Stay, v.Shards = true, 0, 0 })
	if !h.proposed("Remove") {
		t.Errorf("%v: it waits for one that leaves too", h.did)
	}
	h.learn(func(v *Viewed) { v.Others = 0 })
	if h.ended != (Left{Alone: true}) {
		t.Errorf("%#v", h.ended)
	}
}

// TestRandom has puts end, owners answer and members go at random. A node that goes
// has nothing that others do not keep, and what is due is never forgotten.
func TestRandom(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		h := begin(t, time.Minute, 3)
		keeps := map[Copy]bool{} // by others
		for i := range r.IntN(5) {
			h.what.Copies = append(h.what.Copies, copyOf(i))
		}
		for i := range r.IntN(4) {
			h.what.Puts = append(h.what.Puts, copyOf(10+i).Object)
		}
		h.learn(func(v *Viewed) { v.Marked = true })
		for h.ended == nil {
			switch k := r.IntN(7); {
			case k == 0 && len(h.what.Puts) > 0:
				h.what.Puts = h.what.Puts[1:]
				h.what.Copies = append(h.what.Copies, copyOf(10+len(h.what.Puts)))
			case k == 1 && len(h.asked) > 0:
				a := h.asked[r.IntN(len(h.asked))]
				h.asked = slices.DeleteFunc(h.asked, func(b Ask) bool { return a == b })
				if kind := []phalanx.Kind{0, phalanx.ErrUnavailable}[r.IntN(2)]; a.View >= h.view.Left {
					keeps[a.Copy] = keeps[a.Copy] || kind == 0
					h.step(Answered{Copy: a.Copy, Kind: kind})
				}
			case k == 2 && h.view.Stay > 1 && r.IntN(4) == 0: // also while its removal is on its way
				clear(keeps)
				h.learn(func(v *Viewed) { v.Others, v.Stay, v.Left = v.Others-1, v.Stay-1, v.Number })
			case k == 3:
				h.learn(func(v *Viewed) { v.Shards = 0 })
			case k == 4 && r.IntN(8) == 0: // others remove it
				h.learn(func(v *Viewed) { v.Member, v.Left = false, v.Number })
			case k == 5 && h.goes >= h.view.Left && h.goes > 0: // else the proposal is void
				h.learn(func(v *Viewed) { v.Member = false })
			default:
				at, ok := h.core.Due()
				if !ok {
					t.Fatalf("seed %d: nothing is due: %v", seed, h.did)
				}
				if len(h.asked)+len(h.what.Puts) > 0 || h.view.Shards > 0 {
					at = min(at, h.now+time.Second)
				}
				h.now = max(h.now, at)
				h.step(Tick{})
			}
		}
		if left, is := h.ended.(Left); !is || left.Fenced {
			continue // it goes on being a member, or joins again
		}
		for _, c := range h.what.Copies {
			if !keeps[c] {
				t.Fatalf("seed %d: it went with %v, which nobody keeps: %v", seed, c, h.did)
			}
		}
		if len(h.what.Puts) > 0 {
			t.Fatalf("seed %d: it went while %v ran", seed, h.what.Puts)
		}
	}
}

// A node tries again while the view still has the mark of the attempt before. That is taken
// back then: what owners have answered meanwhile counts for nothing, and the node asks for
// another mark.
func TestTheMarkOfAnAttemptBefore(t *testing.T) {
	for _, skips := range []bool{false, true} { // the node does not see the view without the mark
		h := &here{t: t, core: New(Config{Deadline: 10 * time.Second, AtOnce: 2}), view: Viewed{Number: 5, Member: true, Others: 2, Stay: 2, Marked: true}}
		h.what = Here{Copies: []Copy{copyOf(1)}}
		h.step(h.view)
		h.step(Start{})
		if len(h.asked) != 1 || h.proposed("Mark") {
			t.Fatalf("%v, asked %v", h.did, h.asked)
		}
		h.answer(0)
		if h.goes != 5 {
			t.Fatalf("%v", h.did)
		}
		if h.view.Number++; !skips {
			h.learn(func(v *Viewed) { v.Left, v.Marked = v.Number, false })
			if !h.proposed("Mark") || h.ended != nil {
				t.Fatalf("%v", h.did)
			}
		}
		h.learn(func(v *Viewed) { v.Left, v.Marked = 7, true })
		if len(h.asked) != 1 || h.asked[0].View != h.view.Number {
			t.Fatalf("skips %v: %v, asked %+v", skips, h.did, h.asked)
		}
		h.answer(0)
		if h.goes != h.view.Number {
			t.Errorf("skips %v: it goes by view %d", skips, h.goes)
		}
	}
}

// A view that comes late does not undo a newer one.
func TestAnOlderViewChangesNothing(t *testing.T) {
	h := begin(t, 10*time.Second, 2)
	h.what = Here{Puts: []phalanx.ObjectID{"x1"}}
	older := h.view
	h.learn(func(v *Viewed) { v.Marked, v.Shards = true, 0 })
	h.did = nil
	h.step(older)
	h.what = Here{}
	h.tick(time.Second)
	if h.proposed("Mark") || !h.proposed("Remove") {
		t.Errorf("%v", h.did)
	}
}

// Others keep a generation of an object, and not the one that was put here since.
func TestACopyIsKeptInItsGeneration(t *testing.T) {
	h := begin(t, 10*time.Second, 2)
	first, second := copyOf(1), copyOf(1)
	second.Gen.Seq++
	h.what = Here{Puts: []phalanx.ObjectID{"x1"}, Copies: []Copy{first}}
	h.learn(func(v *Viewed) { v.Marked, v.Shards = true, 0 })
	h.answer(0)
	h.what = Here{Copies: []Copy{second}}
	h.tick(time.Second)
	if len(h.asked) != 1 || h.asked[0].Copy != second || h.proposed("Remove") {
		t.Errorf("asked %v: %v", h.asked, h.did)
	}
}
