package reduce

import (
	"testing"
	"time"
)

func TestAlone(t *testing.T) {
	const p = RingPatience
	for _, c := range []struct {
		what string
		now  time.Duration
		seen Circled
		want bool
		due  time.Duration
	}{
		{"the place waits for its bytes", p - 1, Circled{Moved: 7}, false, p},
		{"the next place has what it needs before this one", p - 1, Circled{Moved: 7, Given: true}, false, p},
		{"the next place lacks something", p - 1, Circled{Moved: 7, Whole: true}, false, p},
		{"the stream ends as it should", p - 1, Circled{Moved: 7, Whole: true, Broke: true}, false, p},
		{"the stream breaks", p - 1, Circled{Moved: 7, Given: true, Broke: true}, true, p},
		{"both places have everything", 0, Circled{Moved: 7, Whole: true, Given: true, Broke: true}, true, p},
		{"nothing has moved", p, Circled{Moved: 7, Whole: true}, true, p},
		{"bytes have moved", p, Circled{Moved: 8}, false, 2 * p},
	} {
		a := NewAlone(0, Circled{Moved: 7})
		if got := a.Over(c.now, c.seen); got != c.want || a.Due() != c.due {
			t.Errorf("%s: it is over: %v, and due at %v; want %v and %v", c.what, got, a.Due(), c.want, c.due)
		}
	}
	a := NewAlone(0, Circled{Moved: 7})
	if seen := (Circled{Moved: 8}); a.Over(p, seen) || a.Over(2*p-1, seen) || !a.Over(2*p, seen) {
		t.Error("the place does not give up at the first look at which nothing has moved")
	}
}
