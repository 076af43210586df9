package directory

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/node/ask"
	core "github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// Reporter tells new owners the copies of this node (specification 2.6): it hosts ask.Owing
// behind a mutex, since holdings are gathered without it. It is safe for concurrent use.
type Reporter struct {
	to       Transport
	now      func() time.Duration
	holdings func(of []bool) [][]core.Holding
	nums     func() uint64 // the next number of a request

	mu     sync.Mutex
	shards int
	core   *ask.Owing
	alarm  *actors.Alarm

	left map[phalanx.ObjectID]phalanx.Generation // copies whose holdings cannot be sent; Run's own
}

// NewReporter returns a reporter. holdings returns this node's holdings of each shard that
// is marked in of, a list with an entry for each shard. nums returns the next number of a
// request.
func NewReporter(self phalanx.NodeID, to Transport, now func() time.Duration, nums func() uint64, holdings func(of []bool) [][]core.Holding) *Reporter {
	return &Reporter{to: to, now: now, nums: nums, holdings: holdings, core: ask.NewOwing(self), alarm: actors.NewAlarm(now),
		left: map[phalanx.ObjectID]phalanx.Generation{}}
}

// Learn takes a new view.
func (r *Reporter) Learn(v view.View) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shards = len(v.Shards)
	r.step(ask.Learn{View: v})
}

// Acked notes that node has taken the holdings of a shard.
func (r *Reporter) Acked(node phalanx.NodeID, shard int, epoch uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.step(ask.Taken{From: node, Shard: shard, Epoch: epoch})
}

// step needs mu.
func (r *Reporter) step(ev ask.OwingEvent) []ask.List {
	lists := r.core.Step(r.now(), ev)
	r.alarm.Set(r.core.Due())
	return lists
}

// Run reports until ctx ends.
func (r *Reporter) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			r.mu.Lock()
			r.alarm.Stop()
			r.mu.Unlock()
			return
		case <-r.alarm.C():
			r.tell()
		}
	}
}

// tell sends the reports that are due.
func (r *Reporter) tell() {
	next := r.nums()
	r.mu.Lock()
	r.alarm.Rang()
	lists := r.step(ask.Tell{Next: next})
	of := make([]bool, r.shards)
	r.mu.Unlock()
	if len(lists) == 0 {
		return
	}
	for _, l := range lists {
		of[l.Shard] = true
	}
	holdings := r.holdings(of)
	for _, l := range lists {
		r.list(l, holdings[l.Shard])
	}
}

// list sends all holdings of a shard in parts. It leaves out a holding that cannot be
// sent, now and later: the owner must hear of the others, and of the end.
func (r *Reporter) list(l ask.List, all []core.Holding) {
	all = slices.DeleteFunc(all, func(c core.Holding) bool { g, ok := r.left[c.Object]; return ok && g == c.Gen })
	h := l.Head
	for most := len(all); ; {
		n := min(core.FirstPart(all), most)
		h.Holdings, h.End = all[:n], n == len(all)
		switch err := r.to.Send(l.To, l.Shard, h); {
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
