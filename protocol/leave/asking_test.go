package leave

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// asks returns which copies were asked about since it was called last.
func (h *here) asks() (out []phalanx.ObjectID) {
	for _, a := range h.asked {
		out = append(out, a.Object)
	}
	h.asked = nil
	return out
}

// beginWith is a marked node with n large copies in shard 0 and one, "other", in shard 1.
func beginWith(t *testing.T, n int) *here {
	h := &here{t: t, core: New(Config{Deadline: 10 * time.Second}),
		view: Viewed{Number: 5, Member: true, Marked: true, Others: 2, Stay: 2, Owners: []phalanx.NodeID{"o", "p"}}}
	for i := range n {
		h.what.Copies = append(h.what.Copies, copyOf(i))
	}
	other := Copy{Object: "other", Gen: phalanx.Generation{Epoch: 1, Seq: 1}, Shard: 1}
	h.what.Copies = append(h.what.Copies, other)
	h.step(h.view)
	h.step(Start{})
	return h
}

// An owner that never answers holds up nothing of other shards, and is named.
func TestSilentOwner(t *testing.T) {
	h := beginWith(t, 20)
	asked := fmt.Sprint(h.asks())
	if !strings.Contains(asked, "other") {
		t.Fatalf("%v were asked about: others wait for a silent owner", asked)
	}
	h.step(Answered{Copy: h.what.Copies[20]})
	h.asks()
	h.tick(time.Second)
	if more := h.asks(); len(more) > 0 {
		t.Errorf("its owner is asked about more and more: %v", more)
	}
	h.learn(func(v *Viewed) { v.Owners = []phalanx.NodeID{"p", "p"} })
	if more := h.asks(); len(more) != 4 {
		t.Errorf("the next owner was asked about %v", more)
	}
	h.learn(func(v *Viewed) { v.Owners = []phalanx.NodeID{"o", "p"} })
	h.tick(10 * time.Second)
	const want = `20 objects were not handed over ("x0", "x1", "x2", …); owner o has not answered`
	if f, ok := h.ended.(Failed); !ok || f.Remains.Error() != want {
		t.Errorf("%#v: %v", h.ended, f.Remains)
	}
}

// Copies that fit nowhere hold up no others for longer than a second.
func TestCopiesThatFitNowhere(t *testing.T) {
	h := beginWith(t, 200)
	asked := map[phalanx.ObjectID]bool{}
	for h.ended == nil {
		for _, a := range h.asked {
			asked[a.Object] = true
			h.step(Waits{Copy: a.Copy, Node: "o"})
		}
		h.asked = nil
		at, _ := h.core.Due()
		h.now = max(h.now, at)
		h.step(Tick{})
	}
	if len(asked) < 9*usualAtOnce {
		t.Errorf("only %d were asked about", len(asked))
	}
	if f, ok := h.ended.(Failed); !ok || !strings.Contains(f.Remains.Error(), "owner o has not found enough members with memory for them") {
		t.Errorf("%#v", h.ended)
	}
}

// BenchmarkHandOver is a node that leaves, with owners that answer at once.
func BenchmarkHandOver(b *testing.B) {
	for _, n := range []int{10, 1_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var all []Copy
			for i := range n {
				c := copyOf(i)
				c.Shard, c.Small = i%64, i%2 == 0
				all = append(all, c)
			}
			for b.Loop() {
				handOver(b, all)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/copy")
		})
	}
}

func handOver(b *testing.B, all []Copy) {
	c := New(Config{Deadline: time.Hour})
	view := Viewed{Number: 5, Member: true, Marked: true, Others: 2, Stay: 2, Owners: make([]phalanx.NodeID, 64)}
	todo := append(c.Step(0, view), c.Step(0, Start{})...)
	for len(todo) > 0 {
		e := todo[0]
		todo = todo[1:]
		switch e := e.(type) {
		case Look:
			todo = append(todo, c.Step(0, Saw{Here{Copies: all, All: e.All}})...)
		case Ask:
			c.Due()
			todo = append(todo, c.Step(0, Answered{Copy: e.Copy})...)
		case Remove:
			view.Member = false
			todo = append(todo, c.Step(0, view)...)
		case Left:
			return
		}
	}
	b.Fatal("it does not go")
}

// smalls returns n small copies of a shard.
func smalls(n, shard int) (out []Copy) {
	for i := range n {
		out = append(out, Copy{Object: phalanx.ObjectID(fmt.Sprint("s", i)), Gen: phalanx.Generation{Epoch: 1, Seq: 1}, Shard: shard, Small: true})
	}
	return out
}

// Small copies that nobody can take, or whose owner waits, hold up no large one.
func TestSmallCopiesHoldUpNoLargeOne(t *testing.T) {
	for name, answer := range map[string]func(*here, Copy){
		"refused": func(h *here, cp Copy) { h.step(Answered{Copy: cp, Kind: phalanx.ErrInvalid, Node: "a"}) },
		"waits":   func(h *here, cp Copy) { h.step(Waits{Copy: cp, Node: "a"}) },
	} {
		t.Run(name, func(t *testing.T) {
			h := begin(t, time.Minute, 2)
			large := copyOf(1)
			large.Shard = 1
			h.view.Owners = []phalanx.NodeID{"a", "b"}
			h.what = Here{Copies: append(smalls(1000, 0), large)}
			h.learn(func(v *Viewed) { v.Marked, v.Shards = true, 0 })
			for h.now < 2*standstill {
				all := h.asked
				h.asked = nil
				for _, a := range all {
					if a.Copy == large {
						return
					}
					answer(h, a.Copy)
				}
				h.tick(50 * time.Millisecond)
			}
			t.Error("the large copy of another shard is not asked about")
		})
	}
}

// A copy that is dropped while its owner waits for others to keep it, since its bytes
// were bad or it was deleted, holds up nothing.
func TestACopyThatGoesWhileItsOwnerIsAsked(t *testing.T) {
	h := begin(t, 10*time.Second, 2)
	h.what = Here{Copies: []Copy{copyOf(1)}}
	h.learn(func(v *Viewed) { v.Marked, v.Shards = true, 0 })
	h.step(Waits{Copy: copyOf(1), Node: "a"})
	h.what = Here{}
	for h.ended == nil && !h.proposed("Remove") {
		h.tick(100 * time.Millisecond)
	}
	if h.ended != nil {
		t.Errorf("%#v", h.ended)
	}
}

// The new owner of a shard is named if it is silent, not the one before that waited.
func TestTheOwnerThatIsSilentNowIsNamed(t *testing.T) {
	h := begin(t, 10*time.Second, 2)
	h.view.Owners = []phalanx.NodeID{"a"}
	h.what = Here{Copies: []Copy{copyOf(1)}}
	h.learn(func(v *Viewed) { v.Marked, v.Shards = true, 0 })
	h.step(Waits{Copy: copyOf(1), Node: "a"})
	h.learn(func(v *Viewed) { v.Owners = []phalanx.NodeID{"b"} })
	for h.ended == nil {
		h.tick(100 * time.Millisecond)
	}
	if r := h.ended.(Failed).Remains; len(r.Silent) != 1 || r.Silent[0] != "b" {
		t.Errorf("silent %v, waiting %v", r.Silent, r.Waiting)
	}
}
