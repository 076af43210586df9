package sim

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/copies"
	"github.com/phalanx-go/phalanx/node/owner"
	"github.com/phalanx-go/phalanx/node/put"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/transfer"
)

// create is one Put.
type create struct {
	n      *node
	object phalanx.ObjectID
	core   *transfer.Creator
	buf    *copied
	call   *call
	plan   putPlan
	wish   *wish
	has    put.Put
	begun  bool                    // it was announced that its first piece is here
	dead   bool                    // its actor has panicked: the core hears only the owner's answer
	slow   bool                    // it has yet to carry out what its core has decided
	heard  []transfer.CreatorEvent // meanwhile
}

// putPlan describes a Put of the workload.
type putPlan struct {
	bytes   []byte
	copies  int
	unknown bool // the Put does not tell the size
	failAt  int  // bytes; -1: never
	pace    time.Duration
}

func (n *node) put(c *call, plan putPlan) {
	meta := metaOf(c.object, len(plan.bytes))
	if plan.unknown {
		meta.Size = phalanx.UnknownSize
	}
	cr := &create{n: n, object: c.object, call: c, plan: plan, buf: n.copyFor(copies.Copy{Object: c.object, Meta: meta})}
	cr.core = transfer.NewCreator(transfer.CreatorConfig{Self: n.id, Object: c.object, Meta: meta, Copies: plan.copies,
		InlineLimit: n.w.shape.inline, FirstNum: n.client.numbers()})
	n.creates.Add(c.object, cr)
	if plan.unknown {
		cr.step(transfer.Start{})
		return
	}
	cr.wish = n.memory.reserveIfPossible(cr.buf, meta.Size, func(err *phalanx.Error) {
		cr.wish = nil
		n.after(0, func() {
			if err != nil {
				cr.step(transfer.Stop{Err: err})
			} else {
				cr.step(transfer.Start{})
			}
			n.w.step(n, "room")
		})
	})
	n.after(memoryWait, func() {
		if cr.wish != nil {
			n.memory.forget(cr.wish)
			cr.wish = nil
			n.w.met["put waits for room in vain"]++
			cr.step(transfer.Stop{Err: errorf(phalanx.ErrNoSpace, cr.object, "no room for %d bytes within %v", meta.Size, memoryWait)})
			n.w.step(n, "no room")
		}
	})
}

// memoryWait is the longest time that a Put waits for room.
const memoryWait = 2 * time.Second

func (cr *create) pushed(p directory.Push) {
	if heard, ok := owner.Order(p); ok && !cr.dead {
		cr.step(heard)
	}
}

// leave ends the Put when its caller goes away.
func (cr *create) leave(err *phalanx.Error) { cr.step(transfer.Stop{Err: err}) }

// panics ends the Put as if its actor had panicked: it withdraws what it can. If the owner may list
// the bytes, they stay until it has answered.
func (cr *create) panics() {
	if cr.slow {
		return
	}
	cr.call.excused, cr.dead = true, true
	cr.step(transfer.Stop{Err: errorf(phalanx.ErrInternal, cr.object, "the put's actor failed")})
}

func (cr *create) step(ev transfer.CreatorEvent) {
	switch {
	case cr.slow:
		cr.heard = append(cr.heard, ev)
		return
	case cr.core.Over():
		return
	}
	effects := cr.core.Step(cr.n.clock(), ev)
	if slices.ContainsFunc(effects, keeps) && cr.n.w.lag.IntN(slowPuts) == 0 {
		cr.slow = true
		cr.n.after(drawn(cr.n.w.lag, entersWithin), func() {
			if !cr.n.creates.Since(cr.object).Deleted.IsZero() {
				cr.n.w.met["deleted while a put enters its copy"]++
			}
			cr.slow = false
			cr.carryOutAll(effects)
			heard := cr.heard
			cr.heard = nil
			for _, ev := range heard {
				cr.step(ev)
			}
			cr.n.w.step(cr.n, "slow put")
		})
		return
	}
	cr.carryOutAll(effects)
}

// One of slowPuts Puts keeps its copy only some time after the owner has answered it.
const (
	slowPuts     = 6
	entersWithin = 200 * time.Millisecond
)

// keeps reports whether e makes the copy the node's.
func keeps(e transfer.CreatorEffect) bool {
	switch e.(type) {
	case transfer.Kept, transfer.Created:
		return true
	}
	return false
}

func (cr *create) carryOutAll(effects []transfer.CreatorEffect) {
	for _, e := range effects {
		cr.carryOut(e)
	}
	if cr.core.Over() {
		cr.n.creates.Remove(cr.object, cr)
	}
}

func (cr *create) carryOut(e transfer.CreatorEffect) {
	n := cr.n
	if m, ok := owner.OfPut(e, func() []byte { return cr.buf.bytes }); ok {
		cr.message(m)
	}
	switch e := e.(type) {
	case transfer.BindInline:
		if cr.begun {
			n.w.fail("(25) %s finishes %s@%v inline, and other nodes may have a part of it", n.id, cr.object, e.Gen)
		}
	case transfer.AwaitCopies:
		n.w.met["put awaits copies"]++
	case transfer.Withdraw:
		n.w.met["put withdrawn"]++
	case transfer.Announce:
		cr.begun = cr.begun || e.Begun
	case transfer.Fill:
		n.after(cr.plan.pace, cr.fill)
	case transfer.Show:
		cr.show(e.Gen)
	case transfer.Created:
		if e.Existed {
			n.w.met["put of equal bytes"]++
		}
		cr.keep(e.Gen, e.Meta, e.Digest)
		n.w.oracle.copied(cr.object, e.Gen, cr.plan.copies)
		n.w.end(cr.call, nil, e.Gen, cr.buf.bytes)
	case transfer.Kept:
		if cr.plan.copies <= 1 {
			n.w.met["put final without its caller"]++
		}
		if cr.dead {
			n.w.met["copy of a dead put is kept"]++
		}
		cr.keep(e.Gen, e.Meta, e.Digest)
	case transfer.NotCreated:
		n.w.met["put failed: "+e.Err.Kind.Error()]++
		n.w.end(cr.call, e.Err, phalanx.Generation{}, nil)
	case transfer.Discard:
		if cr.wish != nil {
			n.memory.forget(cr.wish)
		}
		if cr.has.Drops() {
			n.table.Drop(&cr.buf.Copy, nil)
		}
		n.memory.release(cr.buf) // the buffer also grows after the table has another copy in its place
	}
}

// message sends m to the owner. The Put ends if the owner is silent.
func (cr *create) message(m owner.Message) {
	if m.How != owner.Await {
		cr.n.message(cr.object, m)
		return
	}
	c := cr.n.client
	cr.has.Ask(m.Body, c.epoch(cr.object))
	c.ask(m.Num, cr.object, m.Body, func(from phalanx.NodeID, r directory.Result) {
		if r.Waiting {
			cr.n.w.met["put waits for another"]++
		}
		cr.step(owner.Answered(m.Num, from, r))
	})
	c.impatient(m.Num, func(err *phalanx.Error) { cr.step(transfer.Stop{Err: err}) })
}

// show lets others read the copy while the Put fills it.
func (cr *create) show(gen phalanx.Generation) {
	n := cr.n
	cr.buf.Gen, cr.buf.Origin = gen, true
	if _, ok := n.table.Show(&cr.buf.Copy); !ok {
		n.w.met["put finds a newer generation"]++
		cr.step(transfer.Stop{Err: errorf(phalanx.ErrAborted, cr.object, "this node has a newer generation of it already")})
		return
	}
	cr.has.Show()
	n.w.oracle.makes(n, cr.object, gen, cr.plan.bytes)
	n.ownShown(cr.object)
}

// keep makes the buffer the node's complete and pinned copy. A second call does nothing.
func (cr *create) keep(g phalanx.Generation, m phalanx.Meta, d phalanx.Digest) {
	switch cr.has.Keep() {
	case put.Enter:
		cr.buf.Gen, cr.buf.Meta, cr.buf.Digest, cr.buf.Origin = g, m, d, false
		cr.n.supply(supply{cr.buf, cr.has.Entry(m.Size), cr.plan.copies})
	case put.Finish:
		if !cr.n.table.Finish(&cr.buf.Copy, m, d, true) {
			cr.n.memory.release(cr.buf)
		}
		cr.n.table.KeepCopies(cr.object, g, cr.plan.copies)
		if cr.n.creates.Since(cr.object).Ends(g) {
			cr.n.w.met["put ends with its copy's end"]++
			cr.n.table.Drop(&cr.buf.Copy, &copies.Ended{Why: copies.Aborted, Gen: g})
			cr.n.reportDrop(cr.object, g)
		}
		cr.n.dropChanged(cr.buf)
		cr.n.ownShown(cr.object)
	}
}

// fill reads the next piece of the source.
func (cr *create) fill() {
	n := cr.n
	if cr.core.Over() {
		return
	}
	defer n.w.step(n, "filled")
	have, all := len(cr.buf.bytes), cr.plan.bytes
	if cr.plan.failAt >= 0 && have >= cr.plan.failAt {
		n.w.met["put fails half-way"]++
		cr.step(transfer.Stop{Err: errorf(phalanx.ErrAborted, cr.object, "its source failed")})
		return
	}
	if have < len(all) {
		end := min(have+int(n.w.shape.piece), len(all))
		if !n.memory.try(cr.buf, int64(end)) {
			cr.step(transfer.Stop{Err: errorf(phalanx.ErrNoSpace, cr.object, "it cannot grow to %d bytes", end)})
			return
		}
		cr.buf.bytes = append(cr.buf.bytes, all[have:end]...)
		n.pump(cr.buf)
		if have == 0 {
			cr.step(transfer.FirstPiece{})
		}
		n.after(time.Duration(n.w.rng.Int64N(int64(cr.plan.pace)+1)), cr.fill)
		return
	}
	cr.buf.fill(cr.buf.bytes)
	n.pump(cr.buf)
	cr.step(transfer.Filled{Size: int64(len(all)), Digest: cr.buf.sum})
}
