package fakenode

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
	"github.com/phalanx-go/phalanx/storenode"
)

// Put keeps the bytes of r.
func (n *Node) Put(ctx context.Context, id phalanx.ObjectID, r io.Reader, meta phalanx.Meta, how httpapi.Putting) (storenode.Info, bool, error) {
	if err := n.refuse(ctx, "put", id); err != nil {
		return storenode.Info{}, false, err
	}
	if err := meta.Validate(); err != nil {
		return storenode.Info{}, false, about(id, err)
	}
	if members := len(n.Info.Members); how.Copies > members {
		return storenode.Info{}, false, fail("put", id, phalanx.ErrUnavailable, fmt.Sprintf("%d copies are more than the %d members can have", how.Copies, members))
	}
	stop := n.wakes(ctx)
	defer stop()
	src := newSource(r)
	defer src.close()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.objects[id] != nil {
		if info, existed, err := n.again(ctx, id, src, meta); existed || err != nil {
			return info, existed, about(id, err)
		}
	}
	if err := n.lacks(max(meta.Size, 0)); err != nil {
		return storenode.Info{}, false, about(id, err)
	}
	o := n.bind(id, meta, n.Info.Node)
	if err := n.fill(ctx, o, src); err != nil {
		e := about(id, err)
		kind := phalanx.ErrAborted // what its readers are told
		if errors.Is(err, phalanx.ErrDeleted) {
			kind = phalanx.ErrDeleted
		}
		n.end(o, kind, err)
		return storenode.Info{}, false, e
	}
	return o.info, false, nil
}

// about returns err as that of a put of id, or nil.
func about(id phalanx.ObjectID, err error) error {
	if err == nil {
		return nil
	}
	var e *phalanx.Error
	if !errors.As(err, &e) {
		return &phalanx.Error{Op: "put", Object: id, Kind: phalanx.ErrAborted, Err: err}
	}
	out := *e
	out.Op, out.Object = "put", id
	return &out
}

// fill appends the bytes of src to o and makes it final.
func (n *Node) fill(ctx context.Context, o *object, src *source) error {
	size := o.info.Meta.Size
	for {
		data, err := n.next(ctx, o, src)
		if len(data) > 0 {
			switch at := int64(len(o.bytes) + len(data)); {
			case size >= 0 && at > size:
				return &phalanx.Error{Kind: phalanx.ErrInvalid, Err: fmt.Errorf("more bytes follow the %d of an object", size)}
			case size < 0:
				if err := n.lacks(int64(len(data))); err != nil {
					return err
				}
			}
			o.bytes = append(o.bytes, data...)
			n.changed.Broadcast()
		}
		switch at := int64(len(o.bytes)); {
		case err == io.EOF && size >= 0 && at < size:
			return fmt.Errorf("the reader ended after %d of %d bytes: %w", at, size, io.ErrUnexpectedEOF)
		case err == io.EOF:
			whole := o.info.Meta
			whole.Size = at
			if err := whole.Validate(); err != nil {
				return err
			}
			n.finish(o)
			return nil
		case err != nil:
			return err
		}
	}
}

// next returns bytes of src, or why o ends. It gives up the lock while it waits.
func (n *Node) next(ctx context.Context, o *object, src *source) ([]byte, error) {
	n.mu.Unlock()
	defer n.mu.Lock()
	select {
	case c := <-src.chunks:
		return c.data, c.err
	case <-o.over:
		return nil, o.err
	case <-ctx.Done():
		return nil, ended(ctx, "put", o.info.Object, "its bytes have not all come")
	}
}

// again compares the bytes of src with the object that id is bound to, once it is final. If the
// object was given up it returns nothing, and src begins anew.
func (n *Node) again(ctx context.Context, id phalanx.ObjectID, src *source, meta phalanx.Meta) (storenode.Info, bool, error) {
	exists := fail("put", id, phalanx.ErrExists, "it has other bytes")
	apart := &object{info: storenode.Info{Object: id, Meta: meta}, over: make(chan struct{})}
	if err := n.fill(ctx, apart, src); err != nil {
		return storenode.Info{}, false, err
	}
	for {
		o := n.objects[id]
		switch {
		case o == nil:
			src.rewind(apart.bytes)
			return storenode.Info{}, false, nil
		case o.final && (!bytes.Equal(o.bytes, apart.bytes) || o.info.Meta.DType != meta.DType || !sameShape(o.info.Meta, meta)):
			return storenode.Info{}, false, exists
		case o.final:
			return o.info, true, nil
		}
		if err := n.wait(ctx, "put", id, "another put of it has not finished"); err != nil {
			return storenode.Info{}, false, err
		}
	}
}
