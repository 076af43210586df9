package transfer

import (
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
)

// CreatorConfig fixes one Creator.
type CreatorConfig struct {
	Self        phalanx.NodeID
	Object      phalanx.ObjectID
	Meta        phalanx.Meta
	Copies      int
	InlineLimit int64 // bytes; a smaller object is put in one change, unless others may have a part of it
	FirstNum    uint64
}

// step is the answer for which a Creator waits.
//
//	fresh → binding → making → finishing → (copying →) done
//	          │                    └→ leaving → done
//	          └→ comparing → (binding again, if other bytes replace a lost object) → done
type step uint8

const (
	fresh     step = iota
	filling        // small: all bytes come before the id is bound
	binding        // the answer to Bind or BindInline
	making         // the id is ours, bytes are coming
	comparing      // the id belongs to another creator and is final
	finishing      // the answer to Finish
	leaving        // the same, and no caller waits for it any more
	copying        // the answer to AwaitCopies
	done
)

// Creator is one Put.
type Creator struct {
	cfg   CreatorConfig
	step  step
	num   uint64
	asked uint64 // the request that is awaited

	gen     phalanx.Generation // ours
	after   phalanx.Generation // the greatest that was deleted, as the owner has said
	dropped phalanx.Generation // the greatest that the owner has ordered to be dropped
	theirs  *Answered          // the object to compare with
	meta    phalanx.Meta
	began   bool // the source is being read
	first   bool // the first piece is filled
	shown   bool // and was announced: others may have a part of the bytes
	filled  bool
	digest  phalanx.Digest
	owner   phalanx.NodeID
	queued  bool  // behind another creator, or until there are enough copies
	state   State // of the id, while queued
	existed bool  // another creator had put the same bytes

	out []CreatorEffect
}

// NewCreator returns a Put that has not started.
func NewCreator(cfg CreatorConfig) *Creator {
	return &Creator{cfg: cfg, meta: cfg.Meta, num: cfg.FirstNum - 1}
}

// Over reports whether the Put has ended.
func (c *Creator) Over() bool { return c.step == done }

// Gen returns the generation that this Put makes, if it was given one.
func (c *Creator) Gen() phalanx.Generation { return c.gen }

// Step applies ev and returns what the shell must do, in that order. A Put has
// no timers: now is there for the sake of uniformity.
func (c *Creator) Step(_ time.Duration, ev CreatorEvent) []CreatorEffect {
	if c.step == done {
		return nil
	}
	switch ev := ev.(type) {
	case Start:
		c.start()
	case FirstPiece:
		c.first = true
		if c.step == making {
			c.announce()
		}
	case Filled:
		c.fill(ev)
	case Answered:
		c.answered(ev)
	case Pushed:
		c.pushed(ev)
	case Stop:
		c.stop(ev.Err)
	}
	out := c.out
	c.out = nil
	return out
}

func (c *Creator) emit(e CreatorEffect) { c.out = append(c.out, e) }

func (c *Creator) next() uint64 {
	c.num++
	return c.num
}

func (c *Creator) start() {
	if c.step != fresh {
		return
	}
	if c.meta.Size != phalanx.UnknownSize && c.meta.Size < c.cfg.InlineLimit {
		c.step = filling
		c.read()
		return
	}
	c.bind(phalanx.Generation{})
}

func (c *Creator) read() {
	if !c.began {
		c.began = true
		c.emit(Fill{})
	}
}

func (c *Creator) bind(replace phalanx.Generation) {
	c.step = binding
	c.asked = c.next()
	c.emit(Bind{Num: c.asked, Meta: c.meta, Copies: c.cfg.Copies, Replace: replace, After: c.after})
}

func (c *Creator) inline() {
	c.step = finishing
	c.asked = c.next()
	c.emit(BindInline{Num: c.asked, Gen: c.gen, After: c.after, Meta: c.meta, Digest: c.digest, Copies: c.cfg.Copies})
}

func (c *Creator) fill(f Filled) {
	c.filled, c.digest, c.meta.Size = true, f.Digest, f.Size
	switch c.step {
	case filling:
		c.inline()
	case making:
		c.finish()
	case comparing:
		c.compare()
	}
}

// announce has the owner send others here.
func (c *Creator) announce() {
	c.shown = true
	c.emit(Announce{Num: c.next(), Gen: c.gen, Origin: true, Begun: true})
}

// small reports whether all bytes are there, and so few that they belong with the
// owner.
func (c *Creator) small() bool { return c.filled && c.meta.Size < c.cfg.InlineLimit }

// finish records the object. An object of which others may have a part is never inline: a
// generation's bytes come in one way only, so that each reader goes on.
func (c *Creator) finish() {
	if c.small() && !c.shown {
		c.inline()
		return
	}
	c.step = finishing
	c.asked = c.next()
	c.emit(Finish{Num: c.asked, Gen: c.gen, Meta: c.meta, Digest: c.digest})
}

func (c *Creator) answered(a Answered) {
	if a.Num != c.asked || c.step != binding && c.step != finishing && c.step != leaving && c.step != copying {
		return
	}
	c.owner = a.Node
	switch {
	case c.step == leaving && a.Waiting:
		c.emit(Cancel{Num: c.asked})
		c.discard()
	case c.step == leaving && (a.Kind != 0 || !c.dropped.Less(a.Gen)):
		c.discard()
	case c.step == leaving:
		c.step = done
		c.emit(Kept{Gen: a.Gen, Meta: c.meta, Digest: c.digest})
	case c.step == copying && a.Waiting:
		c.queued = true
	case a.Kind == phalanx.ErrDeleted && c.gen.IsZero() && c.after.Less(a.Gen):
		c.again(a.Gen)
	case a.Kind != 0:
		c.asked = 0
		c.fail(&phalanx.Error{Object: c.cfg.Object, Kind: a.Kind, Err: fmt.Errorf("%s", a.Text)})
	case c.step == copying:
		c.create()
	case a.Waiting:
		c.queued, c.state = true, a.State
		c.read() // the bytes are needed in any case: to compare, or to take over
	case !c.dropped.Less(a.Gen) && (c.step == finishing || a.State == Begun): // the order has overtaken the answer
		c.asked = 0
		c.fail(c.deleted())
	case c.step == finishing:
		c.existed = a.Gen != c.gen && (c.theirs != nil || !c.gen.IsZero())
		c.gen, c.queued = a.Gen, false
		if c.cfg.Copies <= 1 {
			c.create()
			return
		}
		c.step = copying
		c.asked = c.next()
		c.emit(Kept{Gen: c.gen, Meta: c.meta, Digest: c.digest})
		c.emit(AwaitCopies{Num: c.asked, Gen: c.gen, Copies: c.cfg.Copies})
	case a.State == Begun:
		c.queued = false
		c.gen = a.Gen
		c.step = making
		c.emit(Show{Gen: a.Gen})
		if c.read(); c.first && !c.small() {
			c.announce()
		}
		if c.filled {
			c.finish()
		}
	default: // final or lost: the same bytes are welcome
		c.queued = false
		c.theirs = &a
		c.step = comparing
		if c.read(); c.filled {
			c.compare()
		}
	}
}

// again asks for the id anew, which was deleted: earlier requests do not count any
// more.
func (c *Creator) again(deleted phalanx.Generation) {
	c.after, c.theirs, c.queued = deleted, nil, false
	if c.small() {
		c.inline()
	} else {
		c.bind(phalanx.Generation{})
	}
}

func (c *Creator) deleted() *phalanx.Error {
	return &phalanx.Error{Object: c.cfg.Object, Kind: phalanx.ErrDeleted, Err: fmt.Errorf("the object was deleted while it was put")}
}

// compare decides about bytes that were put under an id that is final (1.5) or
// lost (1.7).
func (c *Creator) compare() {
	t := c.theirs
	same := t.Digest == c.digest && t.Meta.Equal(c.meta)
	switch {
	case same: // the owner lists the copy, unless the object is gone by now
		c.step = finishing
		c.asked = c.next()
		c.emit(Finish{Num: c.asked, Gen: t.Gen, Meta: c.meta, Digest: c.digest})
	case t.State == Lost:
		c.bind(t.Gen)
	default:
		c.fail(&phalanx.Error{Object: c.cfg.Object, Kind: phalanx.ErrExists,
			Err: fmt.Errorf("the object is final with other bytes (%d bytes, digest %v)", t.Meta.Size, t.Digest)})
	}
}

func (c *Creator) create() {
	c.step = done
	c.emit(Created{Gen: c.gen, Meta: c.meta, Digest: c.digest, Existed: c.existed})
}

// fail ends the Put, and releases its binding at the owner. An object that is final
// already stays.
func (c *Creator) fail(err *phalanx.Error) {
	if c.step == copying {
		c.step = done
		if c.asked != 0 {
			c.emit(Cancel{Num: c.asked})
		}
		c.emit(NotCreated{Err: err})
		return
	}
	if c.asked != 0 && (c.step == binding || c.queued) {
		c.emit(Cancel{Num: c.asked})
	}
	if !c.gen.IsZero() && err.Kind != phalanx.ErrDeleted {
		c.emit(Withdraw{Num: c.next(), Gen: c.gen})
	}
	c.emit(NotCreated{Err: err})
	c.discard()
}

func (c *Creator) discard() {
	c.step = done
	c.emit(Discard{})
}

// stop ends the Put for its caller. Once the owner was asked to record it as
// final the copy stays until the answer: it may be the only one of an object
// that others can see.
func (c *Creator) stop(err *phalanx.Error) {
	switch {
	case c.step == leaving:
	case c.step == finishing && !c.queued:
		c.step = leaving
		c.emit(NotCreated{Err: err})
	default:
		c.fail(err)
	}
}

// pushed hears that the binding was taken away. The order can come before the
// answer that tells the generation.
func (c *Creator) pushed(p Pushed) {
	if p.Order == OrderDrop && c.dropped.Less(p.Gen) {
		c.dropped = p.Gen
	}
	if p.Gen.Less(c.gen) {
		return
	}
	lost := !c.gen.IsZero() && (p.Order == OrderAbort || p.Order == OrderReset && c.gen.Less(p.Gen))
	switch {
	case p.Order == OrderDrop && c.gen.IsZero(): // it is about an earlier object, or the answer tells
	case c.step == leaving && (lost || p.Order == OrderDrop):
		c.discard()
	case c.step == leaving:
	case p.Order == OrderDrop:
		c.fail(c.deleted())
	case lost:
		c.gen = phalanx.Generation{}
		c.fail(&phalanx.Error{Object: c.cfg.Object, Kind: phalanx.ErrAborted, Err: fmt.Errorf("the cluster has released its binding")})
	}
}

// Reason names the answer for which the Put waits: the text of a deadline's error.
func (c *Creator) Reason() (node phalanx.NodeID, text string) {
	switch {
	case c.step == copying && c.queued:
		return "", fmt.Sprintf("it has fewer than %d copies", c.cfg.Copies)
	case c.queued && c.state != Begun:
		return "", "not all nodes have dropped what was deleted under its id"
	case c.queued:
		return "", "another creator of it has not finished"
	case c.step == binding || c.step == finishing || c.step == leaving || c.step == copying:
		return c.owner, "its directory shard has not answered"
	case c.step == making || c.step == comparing || c.step == filling:
		return c.cfg.Self, "its source has not ended"
	}
	return c.cfg.Self, "the object does not fit under the memory cap"
}
