package fakenode

import (
	"context"
	"crypto/md5"
	"errors"
	"fmt"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode"
	"github.com/phalanx-go/phalanx/storenode/store"
)

// object is an object that is being written, or final. The node's lock guards it.
type object struct {
	info  storenode.Info
	bytes []byte
	final bool
	turn  uint64         // how many objects were final with it
	lost  bool           // no node has more than bytes
	err   *phalanx.Error // why it was given up or deleted
	over  chan struct{}  // closed with err

	origin phalanx.NodeID
	made   string // by which reduce; "" if it was put
}

// bind makes id an object without bytes so far.
func (n *Node) bind(id phalanx.ObjectID, meta phalanx.Meta, origin phalanx.NodeID) *object {
	n.seq++
	o := &object{info: storenode.Info{Object: id, Gen: phalanx.Generation{Epoch: 1, Seq: n.seq}, Meta: meta}, origin: origin, over: make(chan struct{})}
	n.objects[id] = o
	delete(n.deleted, id)
	n.changed.Broadcast()
	return o
}

// finish makes o final.
func (n *Node) finish(o *object) {
	n.finals++
	o.final, o.turn, o.info.Meta.Size, o.info.Digest = true, n.finals, int64(len(o.bytes)), md5.Sum(o.bytes)
	n.changed.Broadcast()
}

// end removes o and tells its readers and its writer why.
func (n *Node) end(o *object, kind phalanx.Kind, why error) {
	if o.err != nil {
		return
	}
	o.err = &phalanx.Error{Object: o.info.Object, Kind: kind, Err: why}
	close(o.over)
	delete(n.objects, o.info.Object)
	n.changed.Broadcast()
}

// wait waits for a change, and fails as the call op on id once ctx has ended. It is called
// with the lock held.
func (n *Node) wait(ctx context.Context, op string, id phalanx.ObjectID, lacks string) error {
	if ctx.Err() == nil {
		n.changed.Wait()
	}
	return ended(ctx, op, id, lacks)
}

// wakes has those that wait look at ctx once it has ended, until the result is called.
func (n *Node) wakes(ctx context.Context) func() bool { return context.AfterFunc(ctx, n.wake) }

func (n *Node) wake() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.changed.Broadcast()
}

// ended returns the error of a call whose context has ended, or nil.
func ended(ctx context.Context, op string, id phalanx.ObjectID, lacks string) error {
	if ctx.Err() == nil {
		return nil
	}
	return store.ContextError(op, id, context.Cause(ctx), "", lacks)
}

// refuse returns why a call cannot begin, or nil.
func (n *Node) refuse(ctx context.Context, op string, id phalanx.ObjectID) error {
	if n.Fail != nil {
		return n.Fail
	}
	if err := id.Validate(); err != nil {
		return as(op, err)
	}
	return ended(ctx, op, id, "the context had ended before the call")
}

// as returns err, which is a *phalanx.Error, as that of the call op.
func as(op string, err error) error {
	e := &phalanx.Error{Kind: phalanx.ErrInternal, Err: err}
	errors.As(err, &e)
	out := *e
	out.Op = op
	return &out
}

// find returns the object, or why there is none. It is called with the lock held.
func (n *Node) find(op string, id phalanx.ObjectID) (*object, error) {
	switch o := n.objects[id]; {
	case n.deleted[id]:
		return nil, fail(op, id, phalanx.ErrDeleted, "the object was deleted")
	case o == nil:
		return nil, fail(op, id, phalanx.ErrNotFound, nobody)
	default:
		return o, nil
	}
}

const nobody = "nobody has announced it"

func fail(op string, id phalanx.ObjectID, kind phalanx.Kind, text string) error {
	return &phalanx.Error{Op: op, Object: id, Kind: kind, Err: errors.New(text)}
}

// inlineLimit is that of a real node, unless it is told otherwise.
const inlineLimit = 64 << 10

func (n *Node) describe(o *object) storenode.ObjectStat {
	st := storenode.ObjectStat{Object: o.info.Object, State: directory.Begun, Gen: o.info.Gen, Meta: o.info.Meta, Digest: o.info.Digest, Origin: o.origin}
	switch {
	case o.lost:
		st.State = directory.Lost
	case o.final:
		st.State, st.Inline = directory.Finished, len(o.bytes) < inlineLimit
	}
	return st
}

// used returns the bytes that objects take of the memory cap.
func (n *Node) used() int64 {
	total := int64(0)
	for _, o := range n.objects {
		total += max(int64(len(o.bytes)), o.info.Meta.Size)
	}
	return total
}

// lacks returns why there is no memory for more bytes, or nil. It is called with the lock held.
func (n *Node) lacks(more int64) error {
	if used := n.used(); used+more > n.Info.Memory.Cap {
		return &phalanx.Error{Kind: phalanx.ErrNoSpace, Err: fmt.Errorf("%d bytes of %d are used, %d more do not fit", used, n.Info.Memory.Cap, more)}
	}
	return nil
}
