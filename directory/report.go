package directory

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/view"
)

const reportLook = 50 * time.Millisecond // while an owner has not taken what it is told

// Reporter tells new owners what this node holds (specification 2.6), until
// they acknowledge it.
type Reporter struct {
	self     phalanx.NodeID
	to       Transport
	now      func() time.Duration
	holdings func(of []bool) [][]core.Holding
	nums     func() uint64 // the next number of a request

	mu   sync.Mutex
	view uint64 // the number of the last that was learned
	owed []core.Owed
	wake chan struct{}

	round uint64                                  // of the last list; Run's own
	left  map[phalanx.ObjectID]phalanx.Generation // copies whose holdings cannot be sent; Run's own
}

// NewReporter returns a reporter of what holdings returns: for each shard that is
// marked in of, which has all of them, what this node has of it. nums returns the
// next number of a request.
func NewReporter(self phalanx.NodeID, to Transport, now func() time.Duration, nums func() uint64, holdings func(of []bool) [][]core.Holding) *Reporter {
	return &Reporter{self: self, to: to, now: now, nums: nums, holdings: holdings, wake: make(chan struct{}, 1), left: map[phalanx.ObjectID]phalanx.Generation{}}
}

// Learn takes a new view.
func (r *Reporter) Learn(v view.View) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.owed) != len(v.Shards) {
		r.owed = make([]core.Owed, len(v.Shards))
	}
	for i, s := range v.Shards {
		r.owed[i].Learn(s.Owner, s.Epoch, s.LostAt, v.Number == r.view+1)
	}
	r.view = v.Number
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Acked notes that node has taken the holdings of a shard.
func (r *Reporter) Acked(node phalanx.NodeID, shard int, epoch uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if shard < len(r.owed) {
		r.owed[shard].Take(node, epoch)
	}
}

// Run reports until ctx ends.
func (r *Reporter) Run(ctx context.Context) {
	t := time.NewTimer(reportLook)
	defer t.Stop()
	for {
		if r.send() {
			t.Reset(reportLook)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		case <-r.wake:
		}
	}
}

// send reports what is due, and whether anything has not been taken yet.
func (r *Reporter) send() (open bool) {
	tell := false
	r.mu.Lock()
	now := r.now()
	owed := slices.Clone(r.owed)
	due := make([]bool, len(owed))
	for i := range r.owed {
		due[i] = r.owed[i].Tell(now)
		tell, open = tell || due[i], open || r.owed[i].Open()
	}
	r.mu.Unlock()
	if !tell {
		return open
	}
	before := r.nums()
	holdings := r.holdings(due)
	for i, o := range owed {
		if !due[i] {
			continue
		}
		r.round++
		r.tell(i, core.Holdings{From: r.self, Epoch: o.Epoch, Round: r.round, Before: before}, o.Owner, holdings[i])
	}
	return open
}

// tell sends all holdings of a shard in parts. It leaves out a holding that cannot be
// sent, now and later: the owner must hear of the others, and of the end.
func (r *Reporter) tell(shard int, h core.Holdings, owner phalanx.NodeID, all []core.Holding) {
	all = slices.DeleteFunc(all, func(c core.Holding) bool { g, ok := r.left[c.Object]; return ok && g == c.Gen })
	for most := len(all); ; {
		n := min(core.FirstPart(all), most)
		h.Holdings, h.End = all[:n], n == len(all)
		switch err := r.to.Send(owner, shard, h); {
		case err != nil && n > 1:
			most = n / 2
			continue
		case err != nil && n == 1:
			r.left[all[0].Object] = all[0].Gen
			all, most = all[1:], len(all)
			continue
		}
		if all, most = all[n:], len(all); len(all) == 0 {
			return
		}
		h.Part++
	}
}
