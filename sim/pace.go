package sim

import (
	"time"

	"github.com/phalanx-go/phalanx/node/pace"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// slowTakes is how many times as long a slow receiver takes for a piece.
const slowTakes = 20

// paceLimits fit objects of some hundred bytes.
var paceLimits = pace.Limits{Every: tickEvery, Window: 2 * tickEvery, Grain: 1, Memory: time.Minute, Burst: 8, Repeat: 200 * time.Millisecond}

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
