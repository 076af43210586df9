package replica

import (
	"time"

	"github.com/phalanx-go/phalanx"
)

// Telling is a member's answer to a primary that gathers. The member's state does not change while
// it answers: it heeds no earlier primary any more.
type Telling[A any] struct {
	Term        uint64
	Stamp, Said time.Duration
	Part        int  // that was given last
	More        bool // there is another part after it; of the host
	Answer      A    // of the host: the part, and where the next one begins
}

// Tellings are a member's answers. The zero Tellings has none.
type Tellings[A any] struct {
	Of   map[phalanx.NodeID]*Telling[A] // to each primary, the last one
	Said time.Duration                  // of the last of them
}

// Tell is a member's reaction to a question.
type Tell uint8

// A member answers in one of these ways.
const (
	TellNothing Tell = iota // the question is late
	TellSame                // the same part again
	TellNext                // the next part
	TellAnew                // the first part of an answer that the host makes now
)

// Asked takes the question of a primary that the member has promised to heed.
func (t *Tellings[A]) Asked(now time.Duration, from phalanx.NodeID, q Question) (*Telling[A], Tell) {
	switch one := t.Of[from]; {
	case one == nil || one.Term < q.Term || one.Stamp < q.Stamp:
		return t.anew(now, from, q), TellAnew
	case one.Term != q.Term || one.Stamp != q.Stamp:
		return nil, TellNothing
	case q.Said != one.Said && one.Part > 0: // the primary has heard nothing of this answer, whose first part was lost
		return t.anew(now, from, q), TellAnew
	case q.Said == one.Said && q.Part == one.Part+1 && one.More:
		one.Part++
		return one, TellNext
	case q.Said == one.Said && q.Part != one.Part:
		return nil, TellNothing
	default:
		return one, TellSame
	}
}

func (t *Tellings[A]) anew(now time.Duration, from phalanx.NodeID, q Question) *Telling[A] {
	if t.Of == nil {
		t.Of = map[phalanx.NodeID]*Telling[A]{}
	}
	t.Said = max(t.Said+1, now)
	one := &Telling[A]{Term: q.Term, Stamp: q.Stamp, Said: t.Said}
	t.Of[from] = one
	return one
}

// Head is the head of the part.
func (t *Telling[A]) Head() Part {
	return Part{Question{Term: t.Term, Stamp: t.Stamp, Said: t.Said, Part: t.Part}, t.More}
}

// Reset forgets all answers, as the members are others.
func (t *Tellings[A]) Reset() { t.Of = nil }
