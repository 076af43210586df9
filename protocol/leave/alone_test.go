package leave

import (
	"testing"
	"time"
)

// gone has a node leave whose removal has been proposed, and of whose other members stay do not
// leave.
func gone(t *testing.T, deadline time.Duration, stay int) *here {
	h := begin(t, deadline, 2)
	h.learn(func(v *Viewed) { v.Marked, v.Shards, v.Stay = true, 0, stay })
	if !h.proposed("Remove") {
		t.Fatalf("%v: it does not ask to be removed", h.did)
	}
	return h
}

// The removal of a node can lose shards, and is then in the view with which handing over begins
// anew. Where all leave, the node has left; else it may have been removed by others.
func TestRemovedByAViewThatLosesShards(t *testing.T) {
	for stay, want := range []Left{{Alone: true}, {Fenced: true}} {
		h := gone(t, 10*time.Second, stay)
		h.learn(func(v *Viewed) { v.Member, v.Left = false, v.Number })
		if h.ended != want {
			t.Errorf("%d members stay: %#v, want %#v", stay, h.ended, want)
		}
	}
}

// Where no other member stays, a node that no majority of the voters can remove ends soon.
func TestNoMemberStaysAndNoMajorityIsLeft(t *testing.T) {
	for name, c := range map[string]struct {
		stay     int
		deadline time.Duration
		lost     Lost
		want     time.Duration // after which it has left; 0: it does not before it can say that it has handed over
	}{
		"all leave":                         {0, 10 * time.Second, Lost{Majority: true}, aloneFor},
		"all are gone":                      {2, 10 * time.Second, Lost{Majority: true, Gone: 2}, aloneFor},
		"one leaves, and the other is gone": {1, 10 * time.Second, Lost{Majority: true, Gone: 1}, aloneFor},
		"less time is left":                 {0, time.Second, Lost{Majority: true}, time.Second},
		"one is not gone":                   {2, 10 * time.Second, Lost{Majority: true, Gone: 1}, 0},
		"the majority is there":             {2, 10 * time.Second, Lost{Gone: 2}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := gone(t, c.deadline, c.stay)
			h.step(c.lost)
			if at, ok := h.core.Due(); c.want > 0 && (!ok || at > c.want) {
				t.Errorf("it looks again at %v, %v", at, ok)
			}
			for h.now < c.deadline-time.Millisecond && h.ended == nil && (c.want == 0 || h.now < c.want) {
				h.tick(100 * time.Millisecond)
			}
			want := Left{Alone: true}
			if c.want == 0 {
				want = Left{Unseen: true}
			}
			if h.ended != want || c.want > 0 && h.now != c.want {
				t.Errorf("after %v: %#v, want %#v after %v", h.now, h.ended, want, c.want)
			}
		})
	}
}

// A majority that is found again removes the node.
func TestTheMajorityIsFoundWhileItIsAlone(t *testing.T) {
	h := gone(t, time.Minute, 0)
	h.step(Lost{Majority: true})
	h.tick(aloneFor - time.Millisecond)
	h.step(Lost{})
	h.tick(aloneFor)
	h.step(Lost{Majority: true})
	h.tick(aloneFor - time.Millisecond)
	if h.ended != nil {
		t.Fatalf("it has ended: %#v", h.ended)
	}
	h.learn(func(v *Viewed) { v.Member = false })
	if h.ended != (Left{Alone: true}) {
		t.Errorf("%#v", h.ended)
	}
}

// A node that no view marks yet, and that has copies, ends as well when all others are gone.
func TestAllOthersAreGoneBeforeItIsMarked(t *testing.T) {
	h := begin(t, 10*time.Second, 2)
	h.what = Here{Copies: []Copy{copyOf(1)}}
	h.step(Lost{Majority: true, Gone: 2})
	h.tick(aloneFor)
	if h.ended != (Left{Alone: true}) {
		t.Errorf("%#v", h.ended)
	}
}
