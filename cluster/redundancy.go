package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx/protocol/view"
)

const (
	// redundantWithin is how long a node that has joined waits until the cluster survives
	// another death. It comes within milliseconds, unless members have just died, hang, or
	// many join.
	redundantWithin = 5 * time.Second
	answerWithin    = 500 * time.Millisecond // then a member is asked again, if it is one still
	askAgain        = 100 * time.Millisecond
	enoughVoters    = 3  // for one to die
	mostAsked       = 32 // members: in larger clusters not every owner and backup
)

// awaitRedundancy waits until the cluster survives the death of one more node. An operator
// that restarts a cluster kills the next node as soon as this one has started: if this one
// did not vote by then, or another voter was dead already, most of the voters could be gone.
func (l *life) awaitRedundancy(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, redundantWithin)
	defer cancel()
	for {
		lack := l.lack(ctx)
		if lack == "" {
			return
		}
		select {
		case <-l.viewed:
		case <-time.After(askAgain):
		case <-l.done:
			return
		case <-ctx.Done():
			l.log.Warnf("started, but the death of one more node may stop the cluster: %s", lack)
			return
		}
	}
}

// lack names what the present view lacks, or its members that do not answer; "": nothing.
// A view keeps a member that has died until others have noticed.
func (l *life) lack(ctx context.Context) string {
	v := *l.view.Load()
	if !v.Redundant(min(cmp.Or(l.n.cfg.Voters, enoughVoters), enoughVoters)) { // the cluster may want fewer than this node does
		return fmt.Sprintf("%d of %d members vote, and %d of %d shards have no backup", len(v.Voters), len(v.Members), v.Bare(), len(v.Shards))
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var mu sync.Mutex
	var silent []string
	var asked sync.WaitGroup
	for _, id := range v.Critical(mostAsked) {
		i := slices.IndexFunc(v.Members, func(m view.Member) bool { return m.ID == id })
		if i < 0 || id == l.id {
			continue
		}
		asked.Go(func() {
			if !l.members.Answers(ctx, v.Members[i]) {
				mu.Lock()
				defer mu.Unlock()
				silent = append(silent, string(id))
			}
		})
	}
	asked.Wait()
	if len(silent) == 0 {
		return ""
	}
	slices.Sort(silent)
	return strings.Join(silent, ", ") + " did not answer"
}
