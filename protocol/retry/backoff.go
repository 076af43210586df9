package retry

import "time"

// Pauses are how long a sender waits for an answer: First at first, then each time twice as long,
// and Most at most.
type Pauses struct{ First, Most time.Duration }

// After returns how long the sender waits once it has sent a message so many times. It waits as
// long before the first time as after it.
func (p Pauses) After(times int) time.Duration {
	wait := p.First
	for ; times > 1 && wait < p.Most; times-- {
		wait *= 2
	}
	return min(wait, p.Most)
}

// Backoff is how often a message was sent without an answer, and when last. The zero Backoff
// belongs to a message that was not sent yet.
type Backoff struct {
	last  time.Duration
	times int
}

// Once returns the Backoff of a message that was sent once, at now.
func Once(now time.Duration) Backoff { return Backoff{now, 1} }

// Sent takes note that the message was sent at now.
func (b *Backoff) Sent(now time.Duration) { b.last, b.times = now, b.times+1 }

// Answered forgets how often the message was sent. When it was sent last stays known.
func (b *Backoff) Answered() { b.times = 0 }

// Waits reports whether the message was sent and has no answer.
func (b Backoff) Waits() bool { return b.times > 0 }

// Times returns how often the message was sent without an answer.
func (b Backoff) Times() int { return b.times }

// Last returns when the message was sent last.
func (b Backoff) Last() time.Duration { return b.last }

// At returns when the message is sent again.
func (b Backoff) At(p Pauses) time.Duration { return b.last + p.After(b.times) }
