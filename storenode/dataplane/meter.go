package dataplane

import "sync/atomic"

// Meter counts a sender's bytes and waits on one stream, so that another goroutine can see how fast
// its receiver is. A nil Meter counts nothing.
type Meter struct {
	sent  atomic.Int64
	waits atomic.Uint64 // odd while the sender has nothing to send
}

// Sent returns how many bytes the connection has taken.
func (m *Meter) Sent() int64 { return m.sent.Load() }

// Waits returns how often the sender had nothing to send, and whether it has nothing now. Between
// two equal answers with now false, only the receiver and the network have held the stream up.
func (m *Meter) Waits() (times uint64, now bool) {
	n := m.waits.Load()
	return n / 2, n%2 == 1
}

func (m *Meter) add(n int) {
	if m != nil {
		m.sent.Add(int64(n))
	}
}

// turn begins or ends a wait.
func (m *Meter) turn() {
	if m != nil {
		m.waits.Add(1)
	}
}
