// Package fakenode is a node in memory, alone, without a store or a cluster, for
// tests of the HTTP interface and the program. Its objects are
// bytes in a map that can be read while they are written; its Reduce adds
// float32. It is safe for concurrent use.
package fakenode

import (
	"context"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/group"
	"github.com/phalanx-go/phalanx/internal/httpapi"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode"
)

// Node is a httpapi.Node.
type Node struct {
	Info httpapi.Status   // the result of Status
	Tr   httpapi.Tree     // the result of Tree for its object
	Bars []barrier.Status // the result of Barriers
	Grps []group.Status   // the result of Groups
	Fail error            // the error of every call, if it is not nil; set before use

	mu         sync.Mutex
	changed    *sync.Cond
	objects    map[phalanx.ObjectID]*object
	deleted    map[phalanx.ObjectID]bool
	searching  bool // an Open has waited
	reading    map[phalanx.ObjectID]bool
	seq        uint64
	subs       map[chan actors.Event]bool
	prefetched map[phalanx.ObjectID][]phalanx.NodeID
}

type object struct {
	info  storenode.Info
	bytes []byte
	final bool
	lost  bool  // no node has more than bytes
	err   error // why it was given up

	origin phalanx.NodeID
}

var _ httpapi.Node = (*Node)(nil)

// New returns a node called n1#1 that is a member with n2#2.
func New() *Node {
	n := &Node{objects: map[phalanx.ObjectID]*object{}, deleted: map[phalanx.ObjectID]bool{}, subs: map[chan actors.Event]bool{}, prefetched: map[phalanx.ObjectID][]phalanx.NodeID{}, reading: map[phalanx.ObjectID]bool{}}
	n.changed = sync.NewCond(&n.mu)
	n.Info = httpapi.Status{Node: "n1#1", Cluster: "phalanx", Version: "test", Uptime: 90, View: 3,
		Members: []httpapi.Member{{Node: "n1#1", Control: "127.0.0.1:1001", Data: "127.0.0.1:1002", Version: "test"},
			{Node: "n2#2", Control: "127.0.0.1:2001", Data: "127.0.0.1:2002", Version: "test"}},
		Voters: []phalanx.NodeID{"n1#1"}, ShardsOwned: 32, ShardsBackedUp: 30,
		Memory:  httpapi.Memory{Cap: 1 << 30, Used: 3 << 20, Idle: 1 << 20, Peak: 5 << 20, Waiting: 2, WaitingBytes: 48 << 20},
		Objects: 4, Complete: 3, Pinned: 2, Evictions: 5, Fetching: 1, BytesSent: 7 << 20, BytesReceived: 9 << 10, Requests: 11, StreamsBusy: 6}
	return n
}

// ID returns the node's id.
func (n *Node) ID() phalanx.NodeID { return n.Info.Node }

// Status returns Info.
func (n *Node) Status() httpapi.Status { return n.Info }

// Recover says that n2#2 is missing, if it may use force.
func (n *Node) Recover(_ context.Context, force bool) (httpapi.RecoverResult, error) {
	if n.Fail != nil {
		return httpapi.RecoverResult{}, n.Fail
	}
	if !force {
		return httpapi.RecoverResult{}, fail("recover", "", phalanx.ErrUnavailable, "1 of 2 members answer, and 2 are needed; missing: n2#2")
	}
	return httpapi.RecoverResult{View: 1<<52 - 1, Members: []phalanx.NodeID{n.Info.Node}, Missing: []phalanx.NodeID{"n2#2"}, LostShards: 2}, nil
}

func fail(op string, id phalanx.ObjectID, kind phalanx.Kind, text string) error {
	return &phalanx.Error{Op: op, Object: id, Kind: kind, Err: errors.New(text)}
}

// Put keeps the bytes of r.
func (n *Node) Put(ctx context.Context, id phalanx.ObjectID, r io.Reader, meta phalanx.Meta, _ httpapi.Putting) (storenode.Info, bool, error) {
	if n.Fail != nil {
		return storenode.Info{}, false, n.Fail
	}
	n.mu.Lock()
	if o := n.objects[id]; o != nil {
		n.mu.Unlock()
		info, err := n.compare(id, o, r)
		return info, err == nil, err
	}
	n.seq++
	o := &object{info: storenode.Info{Object: id, Gen: phalanx.Generation{Epoch: 1, Seq: n.seq}, Meta: meta}, origin: n.Info.Node}
	n.objects[id] = o
	n.changed.Broadcast()
	n.mu.Unlock()
	buf := make([]byte, 64<<10)
	for {
		k, err := r.Read(buf)
		n.mu.Lock()
		o.bytes = append(o.bytes, buf[:k]...)
		if err == io.EOF && (meta.Size < 0 || meta.Size == int64(len(o.bytes))) {
			o.final, o.info.Meta.Size, o.info.Digest = true, int64(len(o.bytes)), md5.Sum(o.bytes)
		} else if err != nil {
			o.err = &phalanx.Error{Op: "put", Object: id, Kind: phalanx.ErrAborted, Err: err}
			delete(n.objects, id)
		}
		n.changed.Broadcast()
		info, failed := o.info, o.err
		n.mu.Unlock()
		if err != nil {
			return info, false, failed
		}
	}
}

func (n *Node) compare(id phalanx.ObjectID, o *object, r io.Reader) (storenode.Info, error) {
	data, err := io.ReadAll(r)
	n.mu.Lock()
	defer n.mu.Unlock()
	for err == nil && !o.final && o.err == nil {
		n.changed.Wait()
	}
	if err != nil || string(data) != string(o.bytes) {
		return storenode.Info{}, fail("put", id, phalanx.ErrExists, "it has other bytes")
	}
	return o.info, nil
}

// Open reads an object as it is written.
func (n *Node) Open(ctx context.Context, id phalanx.ObjectID, wait bool) (httpapi.Stream, error) {
	if n.Fail != nil {
		return nil, n.Fail
	}
	defer context.AfterFunc(ctx, n.wake)()
	n.mu.Lock()
	defer n.mu.Unlock()
	for {
		o := n.objects[id]
		switch {
		case o != nil && (!o.lost || len(o.bytes) > 0):
			n.reading[id] = true
			n.changed.Broadcast()
			return &stream{node: n, ctx: ctx, o: o, leave: context.AfterFunc(ctx, n.wake)}, nil
		case o == nil && !wait:
			return nil, fail("get", id, phalanx.ErrNotFound, "nobody has announced it")
		case ctx.Err() != nil && errors.As(ctx.Err(), new(*phalanx.Error)):
			return nil, ctx.Err()
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			return nil, fail("get", id, phalanx.ErrDeadline, "nobody has announced it")
		case ctx.Err() != nil:
			return nil, fail("get", id, phalanx.ErrCanceled, "the caller went away")
		}
		if !n.searching {
			n.searching = true
			n.changed.Broadcast()
		}
		n.changed.Wait()
	}
}

// Lose makes id a final object of n2#2 without a complete copy, of which this node has some
// bytes. Its readers wait.
func (n *Node) Lose(id phalanx.ObjectID, size int64, bytes string) {
	n.remote(id, size, bytes).lost = true
}

// Lack makes id an object that n2#2 is writing. This node has some bytes, and no others come.
func (n *Node) Lack(id phalanx.ObjectID, size int64, bytes string) { n.remote(id, size, bytes) }

// Remote has id be a final object that is at n2#2 only.
func (n *Node) Remote(id phalanx.ObjectID, size int64) {
	o := n.remote(id, size, "")
	o.final, o.info.Digest = true, md5.Sum(make([]byte, size))
}

// Opened reports whether id has been opened.
func (n *Node) Opened(id phalanx.ObjectID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.reading[id]
}

func (n *Node) remote(id phalanx.ObjectID, size int64, bytes string) *object {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seq++
	o := &object{info: storenode.Info{Object: id, Gen: phalanx.Generation{Epoch: 1, Seq: n.seq}, Meta: phalanx.Meta{Size: size}}, bytes: []byte(bytes), origin: "n2#2"}
	n.objects[id] = o
	return o
}

// AwaitReader returns once id has been opened since it was last asked.
func (n *Node) AwaitReader(id phalanx.ObjectID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for !n.reading[id] {
		n.changed.Wait()
	}
	delete(n.reading, id)
}

// AwaitOpen returns once an Open waits for its object.
func (n *Node) AwaitOpen() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for !n.searching {
		n.changed.Wait()
	}
}

func (n *Node) wake() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.changed.Broadcast()
}

// Delete removes an object.
func (n *Node) Delete(ctx context.Context, id phalanx.ObjectID) error {
	if n.Fail != nil {
		return n.Fail
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if o := n.objects[id]; o != nil {
		o.err = fail("get", id, phalanx.ErrDeleted, "the object was deleted")
		n.deleted[id] = true
	}
	delete(n.objects, id)
	n.changed.Broadcast()
	return nil
}

// Stat tells of an object.
func (n *Node) Stat(ctx context.Context, id phalanx.ObjectID) (storenode.ObjectStat, error) {
	if n.Fail != nil {
		return storenode.ObjectStat{}, n.Fail
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	o := n.objects[id]
	if n.deleted[id] {
		return storenode.ObjectStat{}, fail("stat", id, phalanx.ErrDeleted, "the object was deleted")
	}
	if o == nil {
		return storenode.ObjectStat{}, fail("stat", id, phalanx.ErrNotFound, "nobody has announced it")
	}
	st := n.describe(o)
	st.Holders = []directory.HolderStat{{Node: n.Info.Node, Complete: o.final, Pinned: o.final, Origin: true}}
	return st, nil
}

func (n *Node) describe(o *object) storenode.ObjectStat {
	st := storenode.ObjectStat{Object: o.info.Object, State: directory.Begun, Gen: o.info.Gen, Meta: o.info.Meta, Digest: o.info.Digest, Origin: o.origin}
	switch {
	case o.lost:
		st.State = directory.Lost
	case o.final:
		st.State = directory.Finished
	}
	return st
}

// List returns the objects whose ids begin with prefix, in order.
func (n *Node) List(ctx context.Context, prefix string) ([]storenode.ObjectStat, error) {
	if n.Fail != nil {
		return nil, n.Fail
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []storenode.ObjectStat
	for id, o := range n.objects {
		if strings.HasPrefix(string(id), prefix) {
			all = append(all, n.describe(o))
		}
	}
	slices.SortFunc(all, func(a, b storenode.ObjectStat) int { return strings.Compare(string(a.Object), string(b.Object)) })
	return all, nil
}

// Prefetch remembers the request.
func (n *Node) Prefetch(ctx context.Context, id phalanx.ObjectID, nodes ...phalanx.NodeID) error {
	if n.Fail != nil {
		return n.Fail
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.objects[id] == nil {
		return fail("prefetch", id, phalanx.ErrNotFound, "nobody has announced it")
	}
	n.prefetched[id] = nodes
	return nil
}

// Prefetched returns the nodes that the last Prefetch of id named.
func (n *Node) Prefetched(id phalanx.ObjectID) []phalanx.NodeID {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.prefetched[id]
}

// Reduce adds the first r.Num of the sources, which must be there.
func (n *Node) Reduce(ctx context.Context, r storenode.Reduce) (storenode.ReduceResult, error) {
	if n.Fail != nil {
		return storenode.ReduceResult{}, n.Fail
	}
	num := r.Num
	if num == 0 {
		num = len(r.Sources)
	}
	if r.Op != phalanx.Sum {
		return storenode.ReduceResult{}, &phalanx.Error{Op: "reduce", Object: r.Target, Node: n.Info.Node, Kind: phalanx.ErrUnknownOp, Err: fmt.Errorf("there is no op %q", r.Op)}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	var total []byte
	res := storenode.ReduceResult{Out: r.Sources[num:], In: r.Sources[:num]}
	for _, id := range res.In {
		o := n.objects[id]
		switch {
		case o == nil:
			return res, fail("reduce", id, phalanx.ErrDeadline, "nobody has announced it")
		case total == nil:
			total, res.Info = slices.Clone(o.bytes), o.info
		case len(total) != len(o.bytes):
			return res, fail("reduce", id, phalanx.ErrMismatch, "its size differs")
		default:
			addFloats(total, o.bytes)
		}
	}
	n.seq++
	res.Object, res.Gen, res.Digest = r.Target, phalanx.Generation{Epoch: 1, Seq: n.seq}, md5.Sum(total)
	n.objects[r.Target] = &object{info: res.Info, bytes: total, final: true, origin: n.Info.Node}
	return res, nil
}

// AllReduce is Reduce: there is one node.
func (n *Node) AllReduce(ctx context.Context, r storenode.Reduce) (storenode.ReduceResult, error) {
	return n.Reduce(ctx, r)
}

// Bench finds that every run takes a millisecond.
func (n *Node) Bench(_ context.Context, b httpapi.BenchRequest) (httpapi.BenchResult, error) {
	if n.Fail != nil {
		return httpapi.BenchResult{}, n.Fail
	}
	res := httpapi.BenchResult{Op: b.Op, Size: b.Size, Nodes: []phalanx.NodeID{"a#1", "b#1"}}
	for range b.Runs {
		res.Ms = append(res.Ms, 1)
	}
	return res, nil
}

// Gather takes the first num of the sources, which must be there.
func (n *Node) Gather(ctx context.Context, sources []phalanx.ObjectID, num int) (in []storenode.Info, out []phalanx.ObjectID, err error) {
	if n.Fail != nil {
		return nil, nil, n.Fail
	}
	if num == 0 {
		num = len(sources)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, id := range sources {
		switch o := n.objects[id]; {
		case len(in) == num:
			out = append(out, id)
		case o == nil:
			return nil, nil, fail("gather", id, phalanx.ErrDeadline, "nobody has announced it")
		default:
			in = append(in, o.info)
		}
	}
	return in, out, nil
}

func addFloats(dst, src []byte) {
	f := func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }
	for i := 0; i+4 <= len(dst); i += 4 {
		binary.LittleEndian.PutUint32(dst[i:], math.Float32bits(f(dst[i:])+f(src[i:])))
	}
}

// Tree returns Tr, if it is of id.
func (n *Node) Tree(ctx context.Context, id phalanx.ObjectID) (httpapi.Tree, error) {
	if n.Fail != nil {
		return httpapi.Tree{}, n.Fail
	}
	if n.Tr.Object != id {
		return httpapi.Tree{}, fail("tree", id, phalanx.ErrNotFound, "nobody has announced it")
	}
	return n.Tr, nil
}

// Barriers returns Bars.
func (n *Node) Barriers(context.Context) ([]barrier.Status, error) { return n.Bars, n.Fail }

// Groups returns Grps.
func (n *Node) Groups(context.Context) ([]group.Status, error) { return n.Grps, n.Fail }

// Events returns the events that are published from now on.
func (n *Node) Events(ctx context.Context) <-chan actors.Event {
	ch := make(chan actors.Event, 16)
	n.mu.Lock()
	n.subs[ch] = true
	n.changed.Broadcast()
	n.mu.Unlock()
	context.AfterFunc(ctx, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.subs, ch)
		close(ch)
	})
	return ch
}

// Publish tells all subscribers of e, once there are at least that many.
func (n *Node) Publish(subscribers int, e actors.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.subs) < subscribers {
		n.changed.Wait()
	}
	for ch := range n.subs {
		ch <- e
	}
}

// Await returns once id has at least size bytes.
func (n *Node) Await(id phalanx.ObjectID, size int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for n.objects[id] == nil || len(n.objects[id].bytes) < size {
		n.changed.Wait()
	}
}

// Bytes returns the object, or nil if it is not there or not final.
func (n *Node) Bytes(id phalanx.ObjectID) []byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	if o := n.objects[id]; o != nil && o.final {
		return o.bytes
	}
	return nil
}
