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
	reportAgain = 100 * time.Millisecond // what is not acknowledged, then twice as late
	reportMax   = 800 * time.Millisecond // at most: an owner with much to do must not get more of it
	// reportChunk bounds the holdings of one message: each has at most some 800
	// bytes, a message a mebibyte.
	reportChunk = 1000
)

// Reporter tells new owners what this node holds (specification 2.6), until
// they acknowledge it.
type Reporter struct {
	self     phalanx.NodeID
	to       Transport
	holdings func(of []bool) [][]core.Holding
	nums     func() uint64 // the next number of a request

	mu     sync.Mutex
	view   uint64 // the number of the last that was learned
	shards []report
	wake   chan struct{}

	round uint64 // of the last list; Run's own
}

type report struct {
	owner  phalanx.NodeID
	epoch  uint64
	lostAt uint64
	acked  bool
}

// NewReporter returns a reporter of what holdings returns: for each shard that is
// marked in of, which has all of them, what this node has of it. nums returns the
// next number of a request.
func NewReporter(self phalanx.NodeID, to Transport, nums func() uint64, holdings func(of []bool) [][]core.Holding) *Reporter {
	return &Reporter{self: self, to: to, nums: nums, holdings: holdings, wake: make(chan struct{}, 1)}
}

// Learn takes a new view.
func (r *Reporter) Learn(v view.View) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.shards) != len(v.Shards) {
		r.shards = make([]report, len(v.Shards))
	}
	next := v.Number == r.view+1
	r.view = v.Number
	for i, s := range v.Shards {
		switch old := &r.shards[i]; {
		case old.owner == s.Owner && old.epoch == s.Epoch:
		case next && old.owner == s.Owner && old.lostAt == s.LostAt:
			old.epoch = s.Epoch // no other was its owner in between: what that was told counts
		default:
			r.shards[i] = report{owner: s.Owner, epoch: s.Epoch, lostAt: s.LostAt}
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
	wait := reportAgain
	t := time.NewTimer(wait)
	defer t.Stop()
	for {
		if r.send() {
			t.Reset(wait)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			wait = min(2*wait, reportMax)
		case <-r.wake:
			wait = reportAgain
		}
	}
}

// send reports what was not acknowledged, and whether there was any.
func (r *Reporter) send() bool {
	r.mu.Lock()
	shards := append([]report(nil), r.shards...)
	r.mu.Unlock()
	again := false
	due := make([]bool, len(shards))
	for i, s := range shards {
		due[i] = !s.acked && s.owner != ""
		again = again || due[i]
	}
	if !again {
		return false
	}
	before := r.nums()
	holdings := r.holdings(due)
	for i, s := range shards {
		if !due[i] {
			continue
		}
		all := holdings[i]
		r.round++
		for part := uint64(0); ; part++ {
			n := min(reportChunk, len(all))
			r.to.Send(s.owner, i, core.Holdings{From: r.self, Epoch: s.epoch, Round: r.round, Part: part, Before: before, Holdings: all[:n], End: n == len(all)})
			if all = all[n:]; len(all) == 0 {
				break
			}
		}
	}
	return true
}
