package ask

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// replied takes an answer. A node that does not own the shard any more, or that has lost and
// got it again since, is not believed: its successor has to answer.
func (c *Requests) replied(from phalanx.NodeID, rep directory.Reply) {
	if !rep.Result.NotOwner {
		c.spoke[from] = c.now
	}
	r := c.pending[rep.Num]
	if r == nil && rep.To == c.cfg.Self && c.givenUp.Grants(rep) && len(c.view.Shards) > 0 {
		c.cancel(rep.Object, rep.Object.Shard(len(c.view.Shards)), rep.Num)
	}
	if r == nil || rep.To != c.cfg.Self || from != r.owner || r.watch && !rep.Result.NotOwner {
		return
	}
	switch {
	case rep.Result.NotOwner || rep.Former(r.epoch): // one of us has an old view, or had one
		r.again = min(r.again, c.now+grain)
		c.book(r)
		return
	case rep.Result.Waiting:
		r.heard, r.times = c.now, 0
		r.began, r.again = c.now, c.now+waitingAfter
		c.book(r)
	default:
		c.givenUp.Answered(r.Num, r.Body, rep.Result)
		if next := c.remove(r); next != nil && c.aim(next) {
			c.send(next)
			c.book(next)
		}
	}
	c.answer(r, from, rep.Result)
}

// answer hands a result to all callers that have asked.
func (c *Requests) answer(r *request, from phalanx.NodeID, res directory.Result) {
	if r.by != nil {
		c.emit(Answer{By: r.by, From: from, Result: res})
	}
	for _, by := range r.joined {
		if by != nil {
			c.emit(Answer{By: by, From: from, Result: res})
		}
	}
}

// told takes an owner's readiness for a watch. If the watch has ended, told cancels it.
func (c *Requests) told(from phalanx.NodeID, t directory.Readiness) {
	c.spoke[from] = c.now // an owner that tells watches is busy, not silent
	w := c.pending[t.Num]
	if w == nil || !w.watch || t.To != c.cfg.Self || w.Object != t.Object {
		if n := len(c.view.Shards); n > 0 {
			end := directory.Request{From: c.cfg.Self, Num: c.cfg.Nums(), Object: t.Object, Body: directory.Cancel{Num: t.Num}}
			c.emit(Send{To: from, Shard: t.Object.Shard(n), What: end})
		}
		return
	}
	counts, news := w.watched.Take(t)
	if !counts {
		return
	}
	w.heard, w.times, w.again = c.now, 0, c.now+watchAgain
	if w.impatient != nil {
		w.again = c.now + waitingAfter
	}
	if w.ackTo != from {
		w.ackTo, w.ackAt = from, c.now+calm
	}
	c.book(w)
	if news && w.by != nil {
		c.emit(Ready{By: w.by, Readiness: t})
	}
}
