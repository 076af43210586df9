package coordinator

import (
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// watchesAtOnce bounds the watches of a reduce's sources that are not answered yet. Each
// shard has its share of them, but at least watchesPerShard: with more than 128 shards
// there can be more. An owner that does not answer holds up none of the others.
const (
	watchesAtOnce   = 1024
	watchesPerShard = 8
)

// watches opens the watches of a reduce's sources, in the order of the request.
type watches struct {
	shards  []queue // by shard
	waiting []bool  // by source: for its first answer
	share   int
}

// queue is the watches of one shard.
type queue struct {
	open int   // watches that are not answered yet
	next []int // sources that are not watched yet, by index
}

// watch has the owners of the sources tell about them.
func (c *Coordinator) watch(sources []phalanx.ObjectID) {
	n := max(c.env.Store.Directory.Shards(), 1)
	w := &watches{shards: make([]queue, n), waiting: make([]bool, len(sources)), share: max(watchesAtOnce/n, watchesPerShard)}
	c.watches = w
	for i, id := range sources {
		if q := &w.shards[id.Shard(n)]; q.open < w.share {
			c.watchSource(i, q)
		} else {
			q.next = append(q.next, i)
		}
	}
	later := c.later()
	time.AfterFunc(surveyFor, func() { later(surveyed{}) })
}

func (c *Coordinator) watchSource(i int, q *queue) {
	q.open++
	c.watches.waiting[i] = true
	id, later, num := c.run.req.Sources[i], c.later(), c.env.Store.Directory.Nums(1)
	c.run.watches = append(c.run.watches, num)
	c.env.Watcher.Watch(id, num, func(r directory.Readiness) { later(told{i, r}) })
}

// watchNext notes the first answer about source i, and watches the next source of the
// same shard.
func (c *Coordinator) watchNext(i int) {
	w := c.watches
	if w == nil || !w.waiting[i] {
		return
	}
	w.waiting[i] = false
	q := &w.shards[c.run.req.Sources[i].Shard(len(w.shards))]
	q.open--
	if len(q.next) > 0 && q.open < w.share {
		next := q.next[0]
		q.next = q.next[1:]
		c.watchSource(next, q)
	}
}

func (c *Coordinator) unwatch() {
	c.watches = nil
	for _, num := range c.run.watches {
		c.env.Store.Directory.Forget(num)
	}
	c.run.watches = nil
}
