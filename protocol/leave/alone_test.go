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

// A node with something on its disk waits until a service can hand it over, or for half of its time, if members that were to
// stay are gone: their processes may start again.
func TestADiskIsNeededWhereNoMemberIsLeft(t *testing.T) {
	for name, c := range map[string]struct {
		stay   int
		marked bool
		what   Here
		until  time.Duration // when the service has handed over; 0: it never has
		want   time.Duration // when the node has left
	}{
		"nobody comes":              {1, true, Here{Services: []string{"s"}, Durable: true}, 0, 30 * time.Second},
		"no view marks the node":    {1, false, Here{Services: []string{"s"}, Durable: true}, 0, 30 * time.Second},
		"it is handed over":         {1, true, Here{Services: []string{"s"}, Durable: true}, 7 * time.Second, 7 * time.Second},
		"and no view marks it":      {1, false, Here{Services: []string{"s"}, Durable: true}, 7 * time.Second, 7 * time.Second},
		"it is handed over at once": {1, true, Here{Services: []string{"s"}, Durable: true}, time.Second, aloneFor},
		"it is in memory":           {1, true, Here{Services: []string{"s"}}, 0, aloneFor},
		"all leave":                 {0, true, Here{Services: []string{"s"}, Durable: true}, 0, aloneFor},
	} {
		t.Run(name, func(t *testing.T) {
			h := &here{t: t, core: New(Config{Deadline: time.Minute, AtOnce: 2}), what: c.what, view: Viewed{Number: 5, Member: true, Others: 1, Stay: c.stay, Shards: 2, Marked: c.marked}}
			h.step(h.view)
			h.step(Start{})
			h.step(Lost{Majority: true, Gone: 1})
			for h.ended == nil && h.now < time.Minute {
				at, ok := h.core.Due()
				if !ok || at > c.want+lookAgain {
					t.Fatalf("it looks again at %v, %v", at, ok)
				}
				h.tick(max(at-h.now, time.Millisecond))
				if c.until > 0 && h.now >= c.until {
					h.what = Here{}
				}
			}
			if h.ended != (Left{Alone: true}) || h.now < c.want || h.now > c.want+lookAgain {
				t.Errorf("after %v: %#v, want it to have left after %v", h.now, h.ended, c.want)
			}
			if up := h.proposed("GiveUp"); up != (c.want == 30*time.Second) {
				t.Errorf("it has given up (%v)", up)
			}
		})
	}
}

// The cluster that is begun anew removes the node, which waits for that.
func TestTheClusterIsBegunAnewWhileADiskIsNeeded(t *testing.T) {
	h := begin(t, time.Minute, 1)
	h.what = Here{Services: []string{"s"}, Durable: true}
	h.learn(func(v *Viewed) { v.Marked = true })
	h.tick(time.Second)
	h.step(Lost{Majority: true, Gone: 1})
	h.tick(10 * time.Second)
	if h.ended != nil {
		t.Fatalf("it has ended: %#v", h.ended)
	}
	h.learn(func(v *Viewed) { v.Member = false })
	if h.ended != (Left{Fenced: true}) {
		t.Errorf("%#v", h.ended)
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
