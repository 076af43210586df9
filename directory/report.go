package directory

import (
	"context"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/view"
)

const (
	reportAgain = 100 * time.Millisecond
	// reportChunk bounds the holdings of one message: each has at most some 800
	// bytes, a message a mebibyte.
	reportChunk = 1000
)

// Reporter tells new owners what this node holds (specification 2.6), until
// they acknowledge it.
type Reporter struct {
	self     phalanx.NodeID
	to       Transport
	holdings func(shard, shards int) []core.Holding
	nums     func() uint64 // the next number of a request

	mu     sync.Mutex
	shards []report
	wake   chan struct{}

	round uint64 // of the last list; Run's own
}

type report struct {
	owner phalanx.NodeID
	epoch uint64
	acked bool
}

// NewReporter returns a reporter of what holdings returns. nums returns the next number
// of a request.
func NewReporter(self phalanx.NodeID, to Transport, nums func() uint64, holdings func(shard, shards int) []core.Holding) *Reporter {
	return &Reporter{self: self, to: to, nums: nums, holdings: holdings, wake: make(chan struct{}, 1)}
}

// Learn takes a new view.
func (r *Reporter) Learn(v view.View) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.shards) != len(v.Shards) {
		r.shards = make([]report, len(v.Shards))
	}
	for i, s := range v.Shards {
		if old := r.shards[i]; old.owner != s.Owner || old.epoch != s.Epoch {
			r.shards[i] = report{owner: s.Owner, epoch: s.Epoch}
		}
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Acked notes that node has taken the holdings of a shard.
func (r *Reporter) Acked(node phalanx.NodeID, shard int, epoch uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if shard < len(r.shards) && r.shards[shard].owner == node && r.shards[shard].epoch == epoch {
		r.shards[shard].acked = true
	}
}

// Run reports until ctx ends.
func (r *Reporter) Run(ctx context.Context) {
	t := time.NewTimer(reportAgain)
	defer t.Stop()
	for {
		if r.send() {
			t.Reset(reportAgain)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		case <-r.wake:
		}
	}
}

// send reports what was not acknowledged, and whether there was any.
func (r *Reporter) send() bool {
	r.mu.Lock()
	shards := append([]report(nil), r.shards...)
	r.mu.Unlock()
	again := false
	for i, s := range shards {
		if s.acked || s.owner == "" {
			continue
		}
		again = true
		before := r.nums()
		all := r.holdings(i, len(shards))
		r.round++
		for part := uint64(0); ; part++ {
			n := min(reportChunk, len(all))
			r.to.Send(s.owner, i, core.Holdings{From: r.self, Epoch: s.epoch, Round: r.round, Part: part, Before: before, Holdings: all[:n], End: n == len(all)})
			if all = all[n:]; len(all) == 0 {
				break
			}
		}
	}
	return again
}
