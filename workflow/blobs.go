package workflow

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// keep notes an object of a run. last says that the run ends with it.
func (l *incarnation) keep(run string, id phalanx.ObjectID, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept[run] == nil {
		l.kept[run] = map[phalanx.ObjectID]bool{}
	}
	l.kept[run][id] = l.kept[run][id] || last
}

// findBlobs notes which checkpoints are on the disk already. Whether runs end with them is not known any more: these stay
// until the run is forgotten.
func (l *incarnation) findBlobs() {
	if l.o.disk == nil {
		return
	}
	if err := l.o.disk.List(func(place string, _ int64) bool {
		l.keepBlob(place, true)
		return true
	}); err != nil {
		l.o.settings.Log.Errorf("the checkpoints on the disk cannot be listed: %v", err)
	}
}

func (l *incarnation) keepBlob(place string, last bool) {
	run := runOf(place)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.blobs[run] == nil {
		l.blobs[run] = map[string]bool{}
	}
	l.blobs[run][place] = last
}

// diskWait bounds what is done for the disk: one checkpoint is read and written.
const diskWait = 10 * time.Minute

// save writes an output to the disk.
func (l *incarnation) save(e core.SaveBlob) {
	l.wait.Go(func() {
		ctx, cancel := context.WithTimeout(l.ctx, diskWait)
		defer cancel()
		ev := core.BlobSaved{Blob: e.Blob}
		if err := l.write(ctx, e); err != nil {
			ev.Failed, ev.Missing = err.Error(), gone(err)
		}
		l.tell(ev)
	})
}

func (l *incarnation) write(ctx context.Context, e core.SaveBlob) error {
	id := outputID(e.Blob, e.Deterministic)
	l.keep(e.Blob.Run.String(), id, e.Result)
	ctx, stop := unlessLost(ctx, l.o.node, id)
	r, err := l.o.node.TryOpen(ctx, id)
	place := placeOf(e.Blob)
	if err == nil {
		err = l.o.disk.Put(place, r, e.Output.Size, e.Output.Digest)
		_ = r.Close()
	}
	if err = stop(err); err != nil {
		return err
	}
	l.keepBlob(place, e.Result)
	return nil
}

// free deletes what the node has of runs that have ended, but for what they end with.
func (l *incarnation) free(runs []core.Released) {
	var objects []phalanx.ObjectID
	var places []string
	l.mu.Lock()
	for _, r := range runs {
		run := r.Run.String()
		objects = append(objects, drop(l.kept, run, r.Results)...)
		places = append(places, drop(l.blobs, run, r.Results)...)
	}
	l.mu.Unlock()
	if len(objects)+len(places) == 0 {
		return
	}
	l.wait.Go(func() {
		for _, p := range places {
			if err := l.o.disk.Delete(p); err != nil {
				l.o.settings.Log.Warnf("the checkpoint %s cannot be deleted: %v", p, err)
			}
		}
		for _, id := range objects { // each has its time: ten thousand take longer than one
			ctx, cancel := context.WithTimeout(l.ctx, time.Minute)
			if err := l.o.node.Delete(ctx, id); err != nil && !gone(err) {
				l.o.settings.Log.Warnf("the object %s cannot be deleted: %v", id, err)
			}
			cancel()
		}
	})
}

// drop takes what is known of a run out of all, but for what the run ends with unless that goes as well.
func drop[K comparable](all map[string]map[K]bool, run string, results bool) (gone []K) {
	for k, last := range all[run] {
		if !last || results {
			gone = append(gone, k)
			delete(all[run], k)
		}
	}
	if len(all[run]) == 0 {
		delete(all, run)
	}
	return gone
}

// putAgain makes an object of a checkpoint on the disk again, for a node that has asked. A node that asks meanwhile asks
// again later.
func (l *incarnation) putAgain(from phalanx.NodeID, m flow.Restore) {
	answer := flow.Restored{Number: m.Number}
	root := l.o.node.System().Root
	if l.o.disk == nil {
		l.o.postFrom(root, l.o.pid, from, answer)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.putting[m.Object] {
		return
	}
	l.putting[m.Object] = true
	l.wait.Go(func() {
		ctx, cancel := context.WithTimeout(l.ctx, diskWait)
		defer cancel()
		b, err := l.o.disk.Open(placeOf(m.Blob))
		if err == nil {
			_, err = l.o.node.PutReader(ctx, m.Object, io.Reader(b), b.Size)
			err = errors.Join(err, b.Close())
			l.keep(m.Blob.Run.String(), m.Object, true)
		}
		switch {
		case err == nil:
			answer.Done = true
		case !errors.Is(err, phalanx.ErrNotFound):
			answer.Failed = err.Error()
		}
		l.mu.Lock()
		delete(l.putting, m.Object)
		l.mu.Unlock()
		l.o.postFrom(root, l.o.pid, from, answer)
	})
}

// restoring asks the service to have the object of a checkpoint put again by a node that has it.
type restoring struct {
	blob   core.Blob
	object phalanx.ObjectID
	number uint64       // set by the actor
	done   chan<- error // of capacity 1
}

// notRestoring says that nobody waits for it any more.
type notRestoring struct{ *restoring }

// restore takes a wish for an object.
func (s *service) restore(c actor.Context, m *restoring) {
	o := s.open
	o.number++
	m.number = o.number
	o.restores[m.number] = m
	s.restorer(c, flow.Wish{Number: m.number, Blob: m.blob, Object: m.object})
}

// restorer gives the wishes for objects an event, and carries out its effects.
func (s *service) restorer(c actor.Context, ev flow.RestorerEvent) {
	o := s.open
	for _, e := range o.restorer.Step(s.node.Now(), ev) {
		switch e := e.(type) {
		case flow.AskFor:
			s.post(c, e.To, e.Restore)
		case flow.Granted:
			if m := o.restores[e.Number]; m != nil {
				delete(o.restores, e.Number)
				m.done <- e.Err
			}
		}
	}
	s.wake(c)
}

// putBack has the object of a checkpoint put again.
func (o *open) putBack(ctx context.Context, b core.Blob, id phalanx.ObjectID) error {
	return putBack(ctx, o.node.System().Root, o.pid, b, id)
}

func putBack(ctx context.Context, root *actor.RootContext, pid *actor.PID, b core.Blob, id phalanx.ObjectID) error {
	done := make(chan error, 1)
	m := &restoring{blob: b, object: id, done: done}
	root.Send(pid, m)
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		root.Send(pid, notRestoring{m})
		return reason(ctx)
	}
}

// bring has the inputs of an order put again that are saved, and that no node has in memory any more.
func (l *incarnation) bring(ctx context.Context, o core.Order) error {
	var all error
	add := func(in core.Located) {
		g := givenOf(o.ID.Run, in)
		if g.object.IsZero() || len(in.Disks) == 0 {
			return
		}
		v, err := l.runner.store.TryGet(ctx, g.object.id)
		if err == nil {
			v.Release()
			return
		}
		if gone(err) {
			b := core.Blob{Run: o.ID.Run, Task: in.Task, Gen: in.Gen, Made: in.Made}
			all = errors.Join(all, l.o.putBack(ctx, b, g.object.id))
		}
	}
	for _, in := range o.Inputs {
		add(in)
	}
	if o.Output != nil {
		add(*o.Output)
	}
	return all
}
