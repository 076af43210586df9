package coordinator

import (
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// ask sends a request about the target. A repeat by the core keeps its number,
// since the directory's client repeats by itself.
func (c *Coordinator) ask(key string, body directory.Body, event func(owner phalanx.NodeID, r directory.Result) reduce.Event) {
	if _, pending := c.nums[key]; pending {
		return
	}
	d := c.env.Store.Directory
	num := d.Nums(1)
	c.nums[key] = num
	later := c.later()
	d.Request(c.run.req.Target, num, body, func(owner phalanx.NodeID, r directory.Result) {
		if r.Waiting {
			return
		}
		later(answeredAsk{key, event(owner, r), r.Meta})
	})
	c.impatient(num)
}

// impatient ends the reduce for its caller if the target's owner says nothing for
// some seconds: this node may be cut off. What is to be released is, in the end.
func (c *Coordinator) impatient(num uint64) {
	later := c.later()
	c.env.Store.Directory.Impatient(num, func(err *phalanx.Error) { later(silent{err}) })
}

// answeredAsk brings the answer to an ask, which may then be asked again.
type answeredAsk struct {
	key   string
	event reduce.Event
	meta  phalanx.Meta // of the target
}

func (c *Coordinator) answered(ctx actor.Context, m answeredAsk) {
	delete(c.nums, m.key)
	switch ev := m.event.(type) {
	case reduce.Attached:
		if ev.Final { // somebody else's result has a type and a shape too
			c.run.tree.meta = &m.meta
		}
	case reduce.Begun:
		c.run.gen, c.watchAt = ev.Gen, c.env.Now()+watchAfter
	case reduce.Restarted:
		c.run.gen = ev.Gen
	}
	gaveUp := c.run.gaveUp
	c.do(ctx, m.event)
	if gaveUp && m.key == askBegin {
		c.do(ctx, reduce.Cancel{}) // an earlier instance has told the caller; now it is known what to release
	}
}

// watchAfter is how long a reduce runs before its target is watched: most have
// ended by then.
const watchAfter = 500 * time.Millisecond

// watchTarget has its owner tell when the target is deleted, or nothing any more,
// while a reduce waits for sources.
func (c *Coordinator) watchTarget() {
	if c.watchAt == 0 || c.env.Now() < c.watchAt || c.core.Ended() {
		return
	}
	c.watchAt = 0
	later, num, gen := c.later(), c.env.Store.Directory.Nums(1), c.run.gen
	c.run.watches = append(c.run.watches, num)
	c.env.Watcher.Watch(c.run.req.Target, num, func(r directory.Readiness) {
		if r.Deleted(gen) {
			later(happened{reduce.TargetGone{Kind: phalanx.ErrDeleted, Text: "the object was deleted"}})
		}
	})
	c.impatient(num)
}

// askBegin is the key of Begin.
const askBegin = "begin"

func (c *Coordinator) begin(e reduce.Begin) {
	if c.run.number == 0 {
		c.run.number = c.env.Store.Directory.Nums(1)
	}
	tag := c.run.request.String()
	c.ask(askBegin, directory.Begin{Meta: phalanx.Meta{Size: phalanx.UnknownSize}, Maker: directory.ByReduce, Tag: tag, Run: c.run.number, After: e.After},
		func(owner phalanx.NodeID, r directory.Result) reduce.Event {
			switch {
			case r.Kind != 0:
				return reduce.Rejected{Kind: r.Kind, Text: r.Text, Gen: r.Gen, Deleted: r.Deleted}
			case r.State == directory.Finished && len(r.Note) == 0: // it was lost with the shard
				return reduce.Attached{Gen: r.Gen, Final: true, Size: r.Meta.Size, Digest: r.Digest}
			case r.State == directory.Finished:
				in, out, err := reduce.ReadNote(c.run.req.Sources, r.Note)
				if err != nil {
					return reduce.Rejected{Kind: phalanx.ErrInternal, Text: fmt.Sprintf("the answer that %s recorded cannot be read: %v", owner, err)}
				}
				return reduce.Attached{Gen: r.Gen, Final: true, In: in, Out: out, Size: r.Meta.Size, Digest: r.Digest}
			case r.Attached != "":
				return reduce.Attached{Gen: r.Gen, Coordinator: r.Attached}
			}
			return reduce.Begun{Gen: r.Gen}
		})
}

func (c *Coordinator) restart(e reduce.Restart) {
	c.ask("restart "+e.From.String(), directory.Restart{Gen: e.From, Run: c.run.number}, func(_ phalanx.NodeID, r directory.Result) reduce.Event {
		if r.Kind != 0 {
			return reduce.RestartRefused{From: e.From, Kind: r.Kind, Text: r.Text}
		}
		return reduce.Restarted{From: e.From, Gen: r.Gen}
	})
}

func (c *Coordinator) finalise(e reduce.Finalise) {
	key := "finalise " + e.Gen.String()
	if _, pending := c.nums[key]; pending { // a repeat by the core: the note of many sources is long
		return
	}
	recorded := reduce.Note(c.run.req.Sources, e.In)
	var body directory.Body = directory.Final{Gen: e.Gen, Meta: e.Meta, Digest: e.Digest, Note: recorded, At: e.At, View: c.env.Store.Directory.View()}
	if e.Inline {
		body = directory.PutInline{Gen: e.Gen, Meta: e.Meta, Digest: e.Digest, Bytes: c.inline, Tag: c.run.request.String(), Note: recorded}
	}
	meta := e.Meta
	c.run.tree.meta = &meta
	c.ask(key, body, func(_ phalanx.NodeID, r directory.Result) reduce.Event {
		if r.Kind != 0 {
			return reduce.FinaliseRefused{Gen: e.Gen, Kind: r.Kind, Text: r.Text}
		}
		return reduce.Finalised{Gen: r.Gen}
	})
}

func (c *Coordinator) abort(e reduce.Abort) {
	c.ask("abort "+e.Gen.String(), directory.Abort{Gen: e.Gen, Run: c.run.number}, func(phalanx.NodeID, directory.Result) reduce.Event { return reduce.Aborted{} })
}
