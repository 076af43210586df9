package pace

import "time"

// Received is a transfer that has come to this node.
type Received struct {
	Bytes int64
	Took  time.Duration
	Idle  time.Duration // how long its sender had nothing to send, as that says
}

// flowed reports whether the sender had bytes nearly all the time.
func (r Received) flowed() bool { return r.Idle >= 0 && r.Idle <= r.Took/4 }

// Rate returns bytes per second from the sender, or 0 if so few bytes, or bytes that were waited
// for, say nothing of it.
func (l Limits) Rate(r Received) int64 {
	if r.Bytes < l.Least || r.Took <= 0 || !r.flowed() {
		return 0
	}
	return per(r.Bytes, r.Took)
}

// downlinkMemory is how long the best rate of this node counts.
const downlinkMemory = 2 * time.Minute

// Downlink remembers how fast this node has got bytes, for owners to compare with how fast others
// do (specification 2.13): no node must wait for one that is much slower, and it must not relay.
// The zero value is ready.
type Downlink struct {
	rate int64 // bytes per second, the best
	own  bool  // rate is the limit of this node and its senders: these always had bytes for it
	at   time.Duration
}

// Received takes a transfer. Its sender had nothing to send for some of the time: if that was not
// short, the rate of the transfer is only a lower bound.
func (d *Downlink) Received(l Limits, r Received, now time.Duration) {
	if r.Bytes < l.Downlink || r.Took <= 0 {
		return
	}
	if now-d.at > downlinkMemory {
		d.rate, d.own = 0, false
	}
	d.own = d.own || r.flowed()
	if rate := per(r.Bytes, r.Took); rate >= d.rate {
		d.rate, d.at = rate, now
	}
}

// Known returns bytes per second; 0 if it is not known.
func (d *Downlink) Known(now time.Duration) int64 {
	if !d.own || now-d.at > downlinkMemory {
		return 0
	}
	return d.rate
}
