package sim

import (
	"time"

	"github.com/phalanx-go/phalanx/node/pace"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// slowTakes is how many times as long a slow receiver takes for a piece.
const slowTakes = 20

// paceLimits fit objects of some hundred bytes, in pieces of about ten.
var paceLimits = pace.Limits{Every: tickEvery, Window: 2 * tickEvery, Grain: 1, Memory: time.Minute, Burst: 8, Least: 16, Downlink: 32, Repeat: 200 * time.Millisecond}

func (o *outgoing) look() pace.Sample {
	return pace.Sample{Sent: o.next - o.open.offset, Waits: o.waits, Waiting: !o.busy && !o.c.whole && o.next >= int64(len(o.c.bytes))}
}

// reportSlow reports the leases of slow receivers.
func (n *node) reportSlow() {
	for _, f := range n.pace.Observe(n.w.now, func(f *pace.Flow) pace.Sample { return f.By.(*outgoing).look() }) {
		o := f.By.(*outgoing)
		n.w.met["receiver found slow"]++
		n.client.ask(n.client.numbers(), o.open.object, directory.Slow{Lease: o.open.lease}, nil)
	}
}

// measured returns the rate that an owner hears of.
func (n *node) measured(r pace.Received) int64 {
	rate := paceLimits.Rate(r)
	if rate > 0 {
		n.w.met["sender measured"]++
	}
	return rate
}

// known returns how fast this node has got bytes.
func (n *node) known() int64 {
	down := n.down.Known(n.clock())
	if down > 0 {
		n.w.met["receiver says how fast it is"]++
	}
	return down
}
