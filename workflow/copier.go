package workflow

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/durable"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	"github.com/phalanx-go/phalanx/protocol/view"
	"github.com/phalanx-go/phalanx/workflow/internal/keeper"
)

// forCopier is an event of the Copier that a goroutine has brought about.
type forCopier struct{ event flow.CopierEvent }

// tellCopier brings an event to the Copier, if the node has one.
func (o *open) tellCopier(ev flow.CopierEvent) {
	if o.copier != nil {
		o.node.System().Root.Send(o.pid, forCopier{ev})
	}
}

// disksOf returns what a Copier is told of a view.
func disksOf(self phalanx.NodeID, v view.View) flow.Disks {
	d := flow.Disks{View: v.Number, Self: self}
	for _, m := range v.Members {
		switch {
		case m.ID == self:
			d.Leaving = m.Leaving
		case !m.Leaving && m.Has(Name) && m.Has(keeper.Folder):
			d.Others = append(d.Others, m.ID)
		}
	}
	return d
}

// copier gives the Copier an event, and carries out its effects.
func (s *service) copier(c actor.Context, ev flow.CopierEvent) {
	o := s.open
	if o.copier == nil {
		return
	}
	for _, e := range o.copier.Step(s.node.Now(), ev) {
		switch e := e.(type) {
		case flow.AskWhich:
			s.post(c, e.To, e.Which)
		case flow.CopyTo:
			if o.life != nil {
				o.life.lay(e)
			}
		case flow.DropCopy:
			if drop := o.laid[e.Number]; drop != nil {
				delete(o.laid, e.Number)
				drop()
			}
		case flow.Remains:
			s.node.Remains(Name, e.View, e.Left)
		case flow.StaysBehind:
			o.settings.Log.Warnf("the node leaves, and no member with a folder stays that could take its %d checkpoints: keep its folder", e.Checkpoints)
		}
	}
	s.wake(c)
}

// which answers which checkpoints the disk has.
func (l *incarnation) which(from phalanx.NodeID, m flow.Which) {
	root := l.o.node.System().Root
	l.onceListed(func() {
		t := flow.These{Number: m.Number, Disk: l.o.diskName()}
		l.has.with(func(b *flow.Belongings) { t.Places = b.Has(m.Places) })
		l.o.postFrom(root, l.o.pid, from, t)
	})
}

// seeDisks tells the Copier of a view once it knows the checkpoints on the own disk: until then the node may have some to hand
// over.
func (s *service) seeDisks(c actor.Context, d flow.Disks) {
	o := s.open
	if o.copier == nil {
		return
	}
	o.disks = d
	select {
	case <-o.life.listed:
		s.copier(c, d)
	default:
		s.node.Remains(Name, d.View, 1)
	}
}

// lay makes an object of a checkpoint, and has another node copy it. The object stays until it is dropped.
func (l *incarnation) lay(e flow.CopyTo) {
	o := l.o
	id := flow.CopyID(o.self, e.Number)
	ctx, cancel := context.WithTimeout(l.ctx, diskWait)
	o.laid[e.Number] = cancel
	l.wait.Go(func() {
		defer cancel()
		c := flow.Copy{Number: e.Number, Place: e.Place, Object: id}
		lost, err := l.read(e.Place, func(b *durable.Blob) (err error) { // the node may be leaving
			c.Size, c.Digest = b.Size, b.Digest
			_, err = o.node.PutReader(ctx, id, b, b.Size, cluster.WhileLeaving())
			return err
		})
		defer l.drop(id) // a Put that was given up may have taken effect
		if err != nil {
			if ctx.Err() == nil {
				o.settings.Log.Warnf("the checkpoint %s cannot be copied to node %s: %v", e.Place, e.To, err)
			}
			o.tellCopier(flow.NotLaid{Number: e.Number, Gone: lost})
			return
		}
		o.post(e.To, c)
		o.tellCopier(flow.Laid{Number: e.Number, Size: c.Size})
		<-ctx.Done()
	})
}

// drop deletes an object, or leaves that to the next incarnation.
func (l *incarnation) drop(id phalanx.ObjectID) {
	l.has.doom(id)
	ctx, cancel := context.WithTimeout(l.ctx, time.Minute)
	defer cancel()
	err := l.o.node.Delete(ctx, id)
	switch {
	case err == nil || gone(err):
		l.has.spare(id)
	case l.ctx.Err() == nil:
		l.o.settings.Log.Warnf("the object %s cannot be deleted: %v", id, err)
	}
}

// rotten takes that the disk does not have a checkpoint any more, or not its bytes.
func (l *incarnation) rotten(place string) {
	if err := l.o.disk.Delete(place); err != nil {
		l.o.settings.Log.Warnf("the checkpoint %s cannot be deleted: %v", place, err)
	}
	l.has.with(func(b *flow.Belongings) { b.NoBlob(place) })
	l.o.tellCopier(flow.NotHeld{Places: []string{place}})
}
