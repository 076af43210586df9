package cluster

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode"
	"github.com/phalanx-go/phalanx/storenode/store"
)

// PutOption is an optional argument of Put and PutReader.
type PutOption func(*putting)

// putting is a Put and the receivers of its outcome.
type putting struct {
	storenode.Put
	existed *bool
}

// WithArray says that the object is an array of elements of type d; shape is
// the number of elements in each dimension.
func WithArray(d phalanx.DType, shape ...int64) PutOption {
	return func(p *putting) { p.Meta.DType, p.Meta.Shape = d, shape }
}

// WithCopies has k nodes keep a complete pinned copy; the Put returns when they do. If there
// are fewer than k members it puts nothing and is ErrUnavailable at once.
func WithCopies(k int) PutOption { return func(p *putting) { p.Copies = k } }

// WaitForMemory has the Put wait for memory no longer than d; without it that is
// storenode.MemoryWait, 10 s. If d is 0 or less it does not wait at all: it takes memory
// that is free, or is ErrNoSpace at once, and no copy is evicted for it. A Put never waits for
// memory of pinned copies, uploads and the directory.
func WaitForMemory(d time.Duration) PutOption {
	if d <= 0 {
		d = -1
	}
	return func(p *putting) { p.MemoryWait = d }
}

// TellExisted sets *existed when the Put returns: whether the same bytes had been
// there before, so that it created nothing.
func TellExisted(existed *bool) PutOption { return func(p *putting) { p.existed = existed } }

// WhileLeaving has the Put begin although the node leaves: a service hands over what others read of the object (Node.Remains).
func WhileLeaving() PutOption { return func(p *putting) { p.WhileLeaving = true } }

// Put creates the object id from data, which it copies. If the same bytes are
// there already it succeeds; other bytes under the same id are ErrExists.
func (n *Node) Put(ctx context.Context, id phalanx.ObjectID, data []byte, opts ...PutOption) (storenode.Info, error) {
	return n.put(ctx, storenode.Put{Object: id, Bytes: data, Meta: phalanx.Meta{Size: int64(len(data))}}, opts)
}

// PutReader creates the object id from the bytes of r: size bytes, or all until its
// end if size is phalanx.UnknownSize. Others can read the object while it
// is written.
func (n *Node) PutReader(ctx context.Context, id phalanx.ObjectID, r io.Reader, size int64, opts ...PutOption) (storenode.Info, error) {
	if r == nil {
		return storenode.Info{}, &phalanx.Error{Op: "put", Object: id, Kind: phalanx.ErrInvalid, Err: errors.New("there is no reader")}
	}
	return n.put(ctx, storenode.Put{Object: id, Reader: r, Meta: phalanx.Meta{Size: size}}, opts)
}

// named returns err as the error of call op.
func named(err error, op string) error {
	e := &phalanx.Error{Op: op, Kind: phalanx.ErrInternal, Err: err}
	var pe *phalanx.Error
	if errors.As(err, &pe) {
		*e = *pe
		e.Op = op
	}
	return e
}

func (n *Node) put(ctx context.Context, p storenode.Put, opts []PutOption) (storenode.Info, error) {
	l, err := n.use("put", p.Object)
	if err != nil {
		return storenode.Info{}, err
	}
	all := putting{Put: p}
	for _, o := range opts {
		o(&all)
	}
	if err := l.enough(ctx, &all.Put); err != nil {
		return storenode.Info{}, err
	}
	info, existed, err := l.store.Put(ctx, all.Put)
	if all.existed != nil {
		*all.existed = existed
	}
	return info, l.because(err)
}

// Get returns a view of the whole object, which the caller must release. It
// waits until the object is there and final, or ctx ends.
func (n *Node) Get(ctx context.Context, id phalanx.ObjectID) (*storenode.View, error) {
	l, err := n.use("get", id)
	if err != nil {
		return nil, err
	}
	v, err := l.store.Get(ctx, id, true)
	return v, l.because(err)
}

// TryGet is Get, but fails with ErrNotFound at once if no Put or Reduce has begun the id.
func (n *Node) TryGet(ctx context.Context, id phalanx.ObjectID) (*storenode.View, error) {
	l, err := n.use("get", id)
	if err != nil {
		return nil, err
	}
	v, err := l.store.Get(ctx, id, false)
	return v, l.because(err)
}

// Open returns a reader of the object's bytes as they arrive; the reader ends
// with ctx, or if that has no deadline, once no byte has come for as long as the
// default one. The caller must close it.
func (n *Node) Open(ctx context.Context, id phalanx.ObjectID) (*storenode.Reader, error) {
	l, err := n.use("open", id)
	if err != nil {
		return nil, err
	}
	r, err := l.store.Open(ctx, id, true)
	return r, l.because(err)
}

// TryOpen is Open, but fails with ErrNotFound at once if no Put or Reduce has begun the id.
func (n *Node) TryOpen(ctx context.Context, id phalanx.ObjectID) (*storenode.Reader, error) {
	l, err := n.use("open", id)
	if err != nil {
		return nil, err
	}
	r, err := l.store.Open(ctx, id, false)
	return r, l.because(err)
}

// Delete removes the object everywhere; it returns when that is durable. The
// id can be put again at once: no Get at a member that begins after that Put has returned
// gets the old bytes; a node that was removed since it hung or was cut off may still
// get them. To delete an id that was never put changes nothing.
func (n *Node) Delete(ctx context.Context, id phalanx.ObjectID) error {
	l, err := n.use("delete", id)
	if err != nil {
		return err
	}
	_, err = store.Call(ctx, l.store, "delete", id, func(d time.Duration, done func(struct{}, error)) {
		l.store.Delete(id, d, func(err error) { done(struct{}{}, err) })
	})
	return l.because(err)
}

// Stat returns the directory's state of the object; ErrNotFound if no Put or Reduce has
// begun it.
func (n *Node) Stat(ctx context.Context, id phalanx.ObjectID) (storenode.ObjectStat, error) {
	l, err := n.use("stat", id)
	if err != nil {
		return storenode.ObjectStat{}, err
	}
	st, err := store.Call(ctx, l.store, "stat", id, func(d time.Duration, done func(storenode.ObjectStat, error)) { l.store.Stat(id, d, done) })
	return st, l.because(err)
}

// List returns the objects whose ids begin with prefix, in order.
func (n *Node) List(ctx context.Context, prefix string) ([]storenode.ObjectStat, error) {
	l, err := n.use("list", "")
	if err != nil {
		return nil, err
	}
	if err := phalanx.ObjectID(prefix).Validate(); err != nil && prefix != "" {
		return nil, named(err, "list")
	}
	type page struct {
		stats []storenode.ObjectStat
		err   error
	}
	shards := len(n.View().Shards)
	pages := make([]page, shards)
	var wg sync.WaitGroup
	for i := range shards {
		wg.Add(1)
		go func() {
			defer wg.Done()
			pages[i].stats, pages[i].err = l.list(ctx, i, prefix)
		}()
	}
	wg.Wait()
	var all []storenode.ObjectStat
	for _, p := range pages {
		if p.err != nil {
			return nil, l.because(p.err)
		}
		all = append(all, p.stats...)
	}
	slices.SortFunc(all, func(a, b storenode.ObjectStat) int { return strings.Compare(string(a.Object), string(b.Object)) })
	return all, nil
}

// listPage is how many entries one answer to List has.
const listPage = 500

func (l *life) list(ctx context.Context, shard int, prefix string) (all []storenode.ObjectStat, err error) {
	err = l.pages(ctx, shard, prefix, 0, func(part []storenode.ObjectStat) bool {
		all = append(all, part...)
		return true
	})
	return all, err
}

// Walk calls f with all objects whose ids begin with prefix, with some at a time and in no order, until it returns false: what
// List would return, while there may be more of them than fit into memory. What is put or deleted meanwhile may be missing. A shard
// that does not answer for Config.Deadline does not hold up the others: Walk goes on, and returns its error at the end.
func (n *Node) Walk(ctx context.Context, prefix string, f func([]storenode.ObjectStat) bool) error {
	l, err := n.use("list", "")
	if err != nil {
		return err
	}
	if err := phalanx.ObjectID(prefix).Validate(); err != nil && prefix != "" {
		return named(err, "list")
	}
	var failed error
	more := true
	for i := 0; i < len(n.View().Shards) && more; i++ {
		if err := l.pages(ctx, i, prefix, n.cfg.Deadline, func(part []storenode.ObjectStat) bool {
			more = f(part)
			return more
		}); err != nil {
			failed = cmp.Or(failed, l.because(err))
		}
	}
	return failed
}

// pages calls f with the objects of a shard, until it returns false. Each page takes at most the time most, if that is not 0.
func (l *life) pages(ctx context.Context, shard int, prefix string, most time.Duration, f func([]storenode.ObjectStat) bool) error {
	after := phalanx.ObjectID("")
	for {
		part, err := l.page(ctx, shard, directory.List{Prefix: prefix, After: after, Limit: listPage}, most)
		if err != nil {
			return err
		}
		if len(part) > 0 && !f(part) || len(part) < listPage {
			return nil
		}
		after = part[len(part)-1].Object
	}
}

func (l *life) page(ctx context.Context, shard int, page directory.List, most time.Duration) ([]storenode.ObjectStat, error) {
	if most > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, most)
		defer cancel()
	}
	return store.Call(ctx, l.store, "list", "", func(d time.Duration, done func([]storenode.ObjectStat, error)) {
		l.client.List(shard, page, d, done)
	})
}

// Watch calls f with the object's complete copies, as the directory knows them, now and
// at each change, until ctx ends or f returns false. It has no deadline of its own.
func (n *Node) Watch(ctx context.Context, id phalanx.ObjectID, f func(Locations) bool) error {
	l, err := n.use("watch", id)
	if err != nil {
		return err
	}
	if err := id.Validate(); err != nil {
		return named(err, "watch")
	}
	ch := make(chan directory.Readiness, 16)
	num := l.client.Nums(1)
	l.client.Watch(id, num, func(r directory.Readiness) {
		for {
			select {
			case ch <- r:
				return
			default: // each one tells everything: the oldest can go
				select {
				case <-ch:
				default:
				}
			}
		}
	})
	defer l.client.Forget(num)
	for {
		select {
		case <-ctx.Done():
			kind := phalanx.ErrDeadline
			if errors.Is(ctx.Err(), context.Canceled) {
				kind = phalanx.ErrCanceled
			}
			return l.because(&phalanx.Error{Op: "watch", Object: id, Kind: kind, Err: ctx.Err()})
		case <-l.done:
			return l.err("watch", id)
		case r := <-ch:
			at := Locations{Object: r.Object, State: r.State.String(), Gen: r.Gen, Meta: r.Meta, Inline: r.Inline}
			for _, has := range r.Ready {
				if has.Complete {
					at.Complete = append(at.Complete, has.Node)
				} else {
					at.Origin = has.Node
				}
			}
			if !f(at) {
				return nil
			}
		}
	}
}

// Locations says where an object can be read.
type Locations struct {
	Object   phalanx.ObjectID
	State    string // unbound, begun, final, lost or deleted
	Gen      phalanx.Generation
	Meta     phalanx.Meta
	Inline   bool             // its bytes are with the directory
	Origin   phalanx.NodeID   // the node that writes it, once the first piece is there
	Complete []phalanx.NodeID // at most directory.MaxReady
}

// Prefetch has nodes, or all members if none are named, fetch the object: a
// broadcast that is pushed. It returns when they have it.
func (n *Node) Prefetch(ctx context.Context, id phalanx.ObjectID, nodes ...phalanx.NodeID) error {
	l, err := n.use("prefetch", id)
	if err != nil {
		return err
	}
	_, err = store.Call(ctx, l.store, "prefetch", id, func(d time.Duration, done func(struct{}, error)) {
		l.store.Prefetch(ctx, id, nodes, d, func(err error) { done(struct{}{}, err) })
	})
	return l.because(err)
}

// Gather returns the first num of the sources that are complete here, or all if
// num is 0, with their order of arrival. The caller must release the views.
func (n *Node) Gather(ctx context.Context, sources []phalanx.ObjectID, num int) (storenode.Gathered, error) {
	l, err := n.use("gather", "")
	if err != nil {
		return storenode.Gathered{}, err
	}
	g := l.store.Gather(ctx, storenode.Gather{Sources: sources, Num: num}, "gather")
	g.Err = l.because(g.Err)
	return g, g.Err
}

// AllGather is Gather of all sources by every node that calls it: each source is
// a broadcast among them, and each node sends on the bytes that it has so far.
func (n *Node) AllGather(ctx context.Context, sources []phalanx.ObjectID) ([]*storenode.View, error) {
	l, err := n.use("allgather", "")
	if err != nil {
		return nil, err
	}
	g := l.store.Gather(ctx, storenode.Gather{Sources: sources}, "allgather")
	return g.Views, l.because(g.Err)
}

// AllReduce is Reduce by every node that calls it with the same request; each caller
// gets the target. The caller must release the view.
func (n *Node) AllReduce(ctx context.Context, r storenode.Reduce) (*storenode.View, storenode.ReduceResult, error) {
	l, err := n.use("allreduce", r.Target)
	if err != nil {
		return nil, storenode.ReduceResult{}, err
	}
	d := l.store.AllReduce(ctx, storenode.AllReduce(r))
	return d.View, d.Result, l.because(d.Err)
}

// Reduce creates r.Target from the first r.Num of r.Sources that become ready,
// and says which they were.
func (n *Node) Reduce(ctx context.Context, r storenode.Reduce) (storenode.ReduceResult, error) {
	l, err := n.use("reduce", r.Target)
	if err != nil {
		return storenode.ReduceResult{}, err
	}
	res, err := l.reduces.Run(ctx, r, nil)
	return res, l.because(err)
}
