package workflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"golang.org/x/sync/errgroup"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/messages"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// keep notes an object of a run. last says that the run ends with it.
func (l *incarnation) keep(run string, id phalanx.ObjectID, last bool) {
	l.has.with(func(b *flow.Belongings) { b.Object(run, id, last) })
}

// foundBlobs says that an incarnation knows which checkpoints were on the disk as it began.
type foundBlobs struct{ life *incarnation }

// atOnce is how many checkpoints the Copier is told of at once: more hold up the actor.
const atOnce = 1000

// findBlobs notes which checkpoints are on the disk already.
func (l *incarnation) findBlobs() {
	if l.o.disk == nil {
		close(l.listed)
		return
	}
	var places []string
	if err := l.o.disk.List(func(place string, _ int64) bool {
		l.has.with(func(b *flow.Belongings) { b.Found(place) })
		places = append(places, place)
		return l.ctx.Err() == nil
	}); err != nil {
		l.o.settings.Log.Errorf("the checkpoints on the disk cannot be listed: %v", err)
	}
	for some := range slices.Chunk(places, atOnce) {
		l.o.tellCopier(flow.Held{Places: some})
	}
	close(l.listed)
	if l.o.copier != nil {
		l.o.node.System().Root.Send(l.o.pid, foundBlobs{l})
	}
}

// onceListed does at once, or once all checkpoints are listed, what has to know them.
func (l *incarnation) onceListed(do func()) {
	select {
	case <-l.listed:
		do()
	default:
		l.wait.Go(func() {
			<-l.listed
			do()
		})
	}
}

func (l *incarnation) keepBlob(place string, last bool) {
	l.has.with(func(b *flow.Belongings) { b.Blob(place, last) })
	l.o.tellCopier(flow.Held{Places: []string{place}})
}

// diskWait bounds what is done for the disk: one checkpoint is read and written.
const diskWait = 10 * time.Minute

// save writes an output to the disk.
func (l *incarnation) save(e core.SaveBlob) {
	l.wait.Go(func() {
		ev := core.BlobSaved{Blob: e.Blob}
		if err := l.write(e); err != nil { // what has other bytes by now is gone as well: no disk could write it
			ev.Failed, ev.Missing = err.Error(), gone(err) || errors.Is(err, phalanx.ErrMismatch)
		}
		l.tell(ev)
	})
}

func (l *incarnation) write(e core.SaveBlob) error {
	l.keep(e.Blob.Run.String(), flow.OutputID(e.Blob, e.Deterministic), e.Result) // a read makes a copy
	refs, err := l.refsOf(e)
	if err != nil {
		return err
	}
	var all []flow.Writing
	l.has.with(func(b *flow.Belongings) { all = b.Writings(e, refs) })
	named, output := all[:len(all)-1], all[len(all)-1]
	writes, ctx := errgroup.WithContext(l.ctx)
	writes.SetLimit(cap(l.writing))
	own := make(chan struct{}, 1) // a slot of the output's own: others may wait for objects that do not come
	for _, w := range named {
		writes.Go(func() error {
			slot := own
			select {
			case own <- struct{}{}:
			case l.writing <- struct{}{}:
				slot = l.writing
			case <-ctx.Done():
				return ctx.Err()
			}
			defer func() { <-slot }()
			return l.writeObject(ctx, w, e)
		})
	}
	if err := writes.Wait(); err != nil {
		return err
	}
	return l.writeObject(l.ctx, output, e)
}

// writesAtOnce is how many objects that outputs name are written at once, beside one for each output: most of the time of a small one is
// that of the disk's sync, which others share.
const writesAtOnce = 32

// writeObject writes one object of an output. Each has its time: a hundred thousand take longer than one.
func (l *incarnation) writeObject(ctx context.Context, w flow.Writing, e core.SaveBlob) error {
	if l.written(w.Place, e) {
		return nil
	}
	l.keep(e.Blob.Run.String(), w.Object, e.Result)
	ctx, cancel := context.WithTimeout(ctx, diskWait)
	defer cancel()
	if err := l.copyTo(ctx, w.Place, w.Object, w.Size, w.Digest); err != nil {
		return fmt.Errorf("the object %s: %w", w.Object, err)
	}
	l.keepBlob(w.Place, e.Result)
	return nil
}

// written reports whether the disk has an object that an output names by now: several outputs that name it may be written at once.
func (l *incarnation) written(place string, e core.SaveBlob) bool {
	if _, output := flow.BlobAt(place); output {
		return false
	}
	has := false
	l.has.with(func(b *flow.Belongings) {
		if has = len(b.Has([]string{place})) > 0; has {
			b.Blob(place, e.Result)
		}
	})
	return has
}

// refsOf returns the objects that an output names.
func (l *incarnation) refsOf(e core.SaveBlob) (refs []flow.Ref, err error) {
	if e.Output.Refs == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(l.ctx, diskWait)
	defer cancel()
	v, err := l.runner.store.TryGet(ctx, flow.OutputID(e.Blob, e.Deterministic))
	if err != nil {
		return nil, err
	}
	defer v.Release()
	_, refs, err = messages.UnmarshalBundle(v.Bytes())
	return refs, err
}

// free deletes what the node has of runs that have ended, but for what they end with.
func (l *incarnation) free(runs []core.Released) { l.onceListed(func() { l.freeNow(runs) }) }

func (l *incarnation) freeNow(runs []core.Released) {
	var objects []phalanx.ObjectID
	var places []string
	l.has.with(func(b *flow.Belongings) { objects, places = b.Free(runs) })
	if len(objects)+len(places) == 0 {
		return
	}
	l.o.tellCopier(flow.NotHeld{Places: places})
	l.wait.Go(func() {
		for _, p := range places {
			if err := l.o.disk.Delete(p); err != nil {
				l.o.settings.Log.Warnf("the checkpoint %s cannot be deleted: %v", p, err)
			}
		}
		l.delete(objects)
	})
}

// deleteLeft deletes what could not be deleted before.
func (l *incarnation) deleteLeft() {
	if left := l.has.condemned(); len(left) > 0 {
		l.wait.Go(func() { l.delete(left) })
	}
}

// delete deletes objects. What cannot be deleted, since the node is just removed, the next incarnation deletes.
func (l *incarnation) delete(ids []phalanx.ObjectID) {
	l.has.doom(ids...)
	for _, id := range ids { // each has its time: ten thousand take longer than one
		if l.ctx.Err() != nil {
			return
		}
		l.drop(id)
	}
}

// census returns of which runs the node has something, or only is that if it has something of it. It also tries again to delete what could
// not be deleted.
func (l *incarnation) census(only core.UID) (runs []core.UID) {
	if !only.IsZero() {
		l.has.with(func(b *flow.Belongings) {
			if b.Of(only) || l.cast.host.Of(only) {
				runs = append(runs, only)
			}
		})
		return runs
	}
	l.deleteLeft()
	l.has.with(func(b *flow.Belongings) {
		runs = b.Runs()
		for _, u := range l.cast.host.Runs() {
			if !b.Of(u) {
				runs = append(runs, u)
			}
		}
	})
	return runs
}

// copyAgain writes a checkpoint of the object that another node has put. The object of a Copy with a number is for that only.
func (l *incarnation) copyAgain(from phalanx.NodeID, m flow.Copy) {
	root := l.o.node.System().Root
	answer := func(failed string) {
		if m.Number != 0 {
			l.o.postFrom(root, l.o.pid, from, flow.Copied{Number: m.Number, Failed: failed})
		}
	}
	if l.o.disk == nil {
		answer("the node has no disk")
		return
	}
	if m.Number != 0 && !strings.HasPrefix(string(m.Object), flow.CopyPrefix(from)) { // it is deleted then
		answer(fmt.Sprintf("%s is no object of a copy of node %s", m.Object, from))
		return
	}
	l.wait.Go(func() {
		ctx, cancel := context.WithTimeout(l.ctx, diskWait)
		defer cancel()
		err := l.copyTo(ctx, m.Place, m.Object, m.Size, m.Digest)
		if m.Number != 0 {
			l.drop(m.Object) // its node may have ended
		}
		if err != nil {
			l.o.settings.Log.Warnf("the checkpoint %s cannot be written for node %s: %v", m.Place, from, err)
			answer(err.Error())
			return
		}
		l.keepBlob(m.Place, true)
		answer("")
	})
}

// copyTo writes an object to the disk.
func (l *incarnation) copyTo(ctx context.Context, place string, id phalanx.ObjectID, size int64, digest phalanx.Digest) error {
	ctx, stop := unlessLost(ctx, l.o.node, id)
	r, err := l.o.node.TryOpen(ctx, id)
	if err == nil {
		err = l.o.disk.Put(place, r, size, digest)
		_ = r.Close()
	}
	return stop(err)
}

// putAgain makes an object of a checkpoint on the disk again, for a node that has asked. A node that asks meanwhile asks
// again later.
func (l *incarnation) putAgain(from phalanx.NodeID, m flow.Restore) {
	answer := flow.Restored{Number: m.Number, Disk: l.o.diskName()}
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
		l.keep(flow.RunOf(m.Place), m.Object, true)
		lost, err := l.read(m.Place, func(b *durable.Blob) error {
			return nodeStore{l.o.node}.PutAgain(ctx, m.Object, b, b.Size, b.Digest, m.Meta)
		})
		answer.Done, answer.Lost = err == nil, lost
		if err != nil && !errors.Is(err, durable.ErrNotFound) {
			answer.Failed = err.Error()
		}
		if err != nil && !lost {
			l.o.settings.Log.Warnf("node %s asks for the checkpoint %s, which cannot be put into the store: %v", from, m.Place, err)
		}
		l.mu.Lock()
		delete(l.putting, m.Object)
		l.mu.Unlock()
		l.o.postFrom(root, l.o.pid, from, answer)
	})
}

// read has do read a checkpoint on the disk. lost says that the disk does not have it, or not its bytes: it is forgotten then.
func (l *incarnation) read(place string, do func(b *durable.Blob) error) (lost bool, err error) {
	b, err := l.o.disk.Open(place)
	if err != nil {
		if lost = errors.Is(err, durable.ErrNotFound) || errors.Is(err, durable.ErrCorrupt); lost {
			l.rotten(place)
		}
		return lost, err
	}
	err = do(b)
	if lost = b.Corrupt(); lost {
		l.rotten(place)
	}
	if closed := b.Close(); closed != nil && err == nil {
		l.o.settings.Log.Warnf("the file of the checkpoint %s was read, and cannot be closed: %v", place, closed)
	}
	return lost, err
}

// restoring asks the service to have the object of a checkpoint put again by a node that has it.
type restoring struct {
	wish flow.Wish           // its Number is set by the actor
	done chan<- flow.Granted // of capacity 1
}

// notRestoring says that nobody waits for it any more.
type notRestoring struct{ *restoring }

// resulting says that a caller reads a result at this node, which has a copy from then on. The node deletes that with the run: the nodes
// that made or saved the result may have started again, and know of it no more.
type resulting struct {
	run    core.UID
	object phalanx.ObjectID
}

// restore takes a wish for an object.
func (s *service) restore(c actor.Context, m *restoring) {
	o := s.open
	o.number++
	m.wish.Number = o.number
	o.restores[o.number] = m
	s.restorer(c, m.wish)
}

// restorer gives the wishes for objects an event, and carries out its effects.
func (s *service) restorer(c actor.Context, ev flow.RestorerEvent) {
	o := s.open
	for _, e := range o.restorer.Step(s.node.Now(), ev) {
		switch e := e.(type) {
		case flow.AskFor:
			s.post(c, e.To, e.Restore)
		case flow.SendCopy:
			s.post(c, e.To, e.Copy)
		case flow.Granted:
			if m := o.restores[e.Number]; m != nil {
				delete(o.restores, e.Number)
				m.done <- e
			}
		}
	}
	s.wake(c)
}

// slotWait is how long an attempt that waits for a checkpoint keeps its slot.
const slotWait = time.Second

// putBack has the object of a checkpoint put again. gone says that no disk has the checkpoint any more. It calls late, if that
// is not nil, when it takes long.
func putBack(ctx context.Context, root *actor.RootContext, pid *actor.PID, wish flow.Wish, late func()) (gone bool, err error) {
	done := make(chan flow.Granted, 1)
	m := &restoring{done: done, wish: wish}
	root.Send(pid, m)
	var takesLong <-chan time.Time
	if late != nil {
		timer := time.NewTimer(slotWait)
		defer timer.Stop()
		takesLong = timer.C
	}
	for {
		select {
		case g := <-done:
			return g.Gone, g.Err
		case <-takesLong:
			late()
		case <-ctx.Done():
			root.Send(pid, notRestoring{m})
			return false, reason(ctx)
		}
	}
}

// bring has the inputs of an order put again that are saved, and that no node has in memory any more. It returns those of
// which no disk has the checkpoint any more. An attempt that waits for long, since a disk is away, has no slot meanwhile.
func (l *incarnation) bring(ctx context.Context, o core.Order, again func(context.Context, flow.Wish) (gone bool, err error)) (unsaved []core.Blob, all error) {
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
		if !gone(err) {
			return
		}
		lost, err := again(ctx, flow.WishOf(o.ID.Run, in))
		if lost {
			unsaved = append(unsaved, flow.BlobOf(o.ID.Run, in))
		}
		all = errors.Join(all, err)
	}
	for _, in := range o.Inputs {
		add(in)
	}
	if o.Output != nil {
		add(*o.Output)
	}
	return unsaved, all
}

// again returns what has the objects of checkpoints put again for an attempt, which may ask for several at once.
func (l *incarnation) again(id core.AttemptID) func(context.Context, flow.Wish) (gone bool, err error) {
	var mu sync.Mutex
	waits := 0
	add := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		if waits += n; waits == 0 || waits == 1 && n == 1 {
			l.tell(core.AttemptWaits{ID: id, On: waits > 0})
		}
	}
	return func(ctx context.Context, w flow.Wish) (bool, error) {
		late := false
		gone, err := putBack(ctx, l.o.node.System().Root, l.o.pid, w, func() {
			late = true
			add(1)
		})
		if late {
			add(-1)
		}
		return gone, err
	}
}
