package fetch

import (
	"time"

	"github.com/phalanx-go/phalanx"
)

// ProbeEvery is how often a Probe looks. So its questions come seldom, however many wait for a
// slow source.
const ProbeEvery = 2 * time.Second

// Probe finds out that the owner of an object is silent while no bytes of it come. Bytes on their
// way need no owner; but a relay that waits for bytes itself keeps its receivers waiting, and
// without an owner no object becomes final: a caller would wait until its deadline.
//
// Its question is a report about no lease (directory.Failed), which changes nothing and which an
// owner answers also while its shard is busy.
type Probe struct {
	every time.Duration
	due   time.Duration // 0: it has not begun
	num   uint64        // of the question that has no answer; 0: there is none
	last  Seen
}

// Seen is a node's part of an object when a Probe looks.
type Seen struct {
	Gen  phalanx.Generation // zero: nothing
	Held int64              // bytes
}

// NewProbe returns a probe that looks after every such time, once it has begun.
func NewProbe(every time.Duration) Probe { return Probe{every: every} }

// Begin has it look from now on: bytes are asked for.
func (p *Probe) Begin(now time.Duration) {
	if p.due == 0 {
		p.due = now + p.every
	}
}

// Due returns when it is to Look.
func (p *Probe) Due() (at time.Duration, ok bool) { return p.due, p.due != 0 }

// Look sees how far the object is; waits says whether a caller waits for bytes that senders are to
// bring. If nothing has come the host asks the owner, with the number ask. If something has it
// ends the question with the number forget.
func (p *Probe) Look(now time.Duration, seen Seen, waits bool, next uint64) (ask, forget uint64) {
	p.due = now + p.every
	switch stuck := p.stuck(seen, waits); {
	case !stuck:
		return 0, p.End()
	case p.num == 0:
		p.num = next
		return next, 0
	}
	return 0, 0
}

// stuck reports whether a caller waits and no bytes have come since the last question.
func (p *Probe) stuck(seen Seen, waits bool) bool {
	same := p.last == seen
	p.last = seen
	return same && waits
}

// Answered takes the owner's answer to a question: it is there.
func (p *Probe) Answered(num uint64) {
	if p.num == num {
		p.num = 0
	}
}

// Silent hears that the owner does not answer a question, which is over then. It reports whether
// the callers are to stop waiting.
func (p *Probe) Silent(num uint64, seen Seen, waits bool) bool {
	if p.num != num {
		return false
	}
	p.num = 0
	return p.stuck(seen, waits)
}

// End returns the number of the question to be ended, or 0.
func (p *Probe) End() (forget uint64) {
	forget, p.num = p.num, 0
	return forget
}
