package workflow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/storenode"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// objects is what attempts need of a store.
type objects interface {
	// Put makes an object of bytes, which it copies. The same bytes may be put again; others are ErrExists.
	Put(ctx context.Context, id phalanx.ObjectID, data []byte, meta phalanx.Meta) (storenode.Info, error)
	// TryGet returns a view, which the caller releases; ErrNotFound if nobody has put the object.
	TryGet(ctx context.Context, id phalanx.ObjectID) (*storenode.View, error)
	// Look returns what the object of a Ref holds. If no node has it any more the error is one of gone; if the object is another one by
	// now it is ErrMismatch.
	Look(ctx context.Context, r Ref) (phalanx.Meta, error)
}

// nodeStore is the store of a node.
type nodeStore struct{ *cluster.Node }

func (s nodeStore) Put(ctx context.Context, id phalanx.ObjectID, data []byte, meta phalanx.Meta) (storenode.Info, error) {
	i, err := s.Node.Put(ctx, id, data, arrayOf(meta)...)
	if errors.Is(err, phalanx.ErrExists) {
		if have, ok := s.has(ctx, id, int64(len(data)), dataplane.DigestBytes(data)); ok {
			return have, nil
		}
	}
	return i, err
}

// Look implements objects.
func (s nodeStore) Look(ctx context.Context, r Ref) (phalanx.Meta, error) {
	at, err := s.final(ctx, r.id)
	switch {
	case err != nil:
		return phalanx.Meta{}, err
	case at.State == directory.Lost:
		return phalanx.Meta{}, &phalanx.Error{Op: "get", Object: r.id, Kind: phalanx.ErrLost, Err: errLost}
	case at.Meta.Size != r.size || at.Digest != r.digest:
		return phalanx.Meta{}, errUnlike(r)
	}
	return at.Meta, nil
}

// errUnlike says that an object is another one than that of a Ref: it was deleted, and put again.
func errUnlike(r Ref) error {
	return &phalanx.Error{Op: "get", Object: r.id, Kind: phalanx.ErrMismatch, Err: errors.New("the object has other bytes than its Ref says")}
}

// PutAgain makes the object of a checkpoint again. It has the elements that meta says, or without any those that the directory knows of
// the object, if it does.
func (s nodeStore) PutAgain(ctx context.Context, id phalanx.ObjectID, from io.Reader, size int64, digest phalanx.Digest, meta phalanx.Meta) error {
	if at, err := s.Stat(ctx, id); err == nil && arrayOf(meta) == nil && at.Meta.Size == size {
		meta = at.Meta
	}
	_, err := s.PutReader(ctx, id, from, size, arrayOf(meta)...)
	if errors.Is(err, phalanx.ErrExists) {
		if _, ok := s.has(ctx, id, size, digest); ok {
			return nil
		}
	}
	return err
}

// has reports whether an object is there and has these bytes. The store takes those of an array for others than those of one
// without elements, which an object has that was put again of a checkpoint after its directory was gone.
func (s nodeStore) has(ctx context.Context, id phalanx.ObjectID, size int64, digest phalanx.Digest) (storenode.Info, bool) {
	at, err := s.final(ctx, id)
	return storenode.Info{Object: id, Gen: at.Gen, Meta: at.Meta, Digest: at.Digest},
		err == nil && at.State == directory.Finished && at.Meta.Size == size && at.Digest == digest
}

// final returns what the directory knows of an object. It waits for one that is being written.
func (s nodeStore) final(ctx context.Context, id phalanx.ObjectID) (storenode.ObjectStat, error) {
	at, err := s.Stat(ctx, id)
	if err == nil && at.State == directory.Begun {
		var v *storenode.View
		if v, err = s.TryGet(ctx, id); err == nil {
			v.Release()
			at, err = s.Stat(ctx, id)
		}
	}
	return at, err
}

func arrayOf(m phalanx.Meta) []cluster.PutOption {
	if m.DType == phalanx.Bytes && m.Shape == nil {
		return nil
	}
	return []cluster.PutOption{cluster.WithArray(m.DType, m.Shape...)}
}

// memory is a store in this process, for trials.
type memory struct {
	mu  sync.Mutex
	all map[phalanx.ObjectID]memoryObject
}

type memoryObject struct {
	info storenode.Info
	data []byte
}

func newMemory() *memory { return &memory{all: map[phalanx.ObjectID]memoryObject{}} }

func (m *memory) Put(ctx context.Context, id phalanx.ObjectID, data []byte, meta phalanx.Meta) (storenode.Info, error) {
	if ctx.Err() != nil {
		return storenode.Info{}, reason(ctx)
	}
	if err := id.Validate(); err != nil {
		return storenode.Info{}, err
	}
	meta.Size = int64(len(data))
	if err := meta.Validate(); err != nil {
		return storenode.Info{}, err
	}
	info := storenode.Info{Object: id, Meta: meta, Digest: dataplane.DigestBytes(data)}
	m.mu.Lock()
	defer m.mu.Unlock()
	if have, ok := m.all[id]; ok {
		if have.info.Digest != info.Digest || !have.info.Meta.Equal(meta) {
			return storenode.Info{}, &phalanx.Error{Op: "put", Object: id, Kind: phalanx.ErrExists, Err: errors.New("the object has other bytes")}
		}
		return have.info, nil
	}
	m.all[id] = memoryObject{info, slices.Clone(data)}
	return info, nil
}

func (m *memory) TryGet(ctx context.Context, id phalanx.ObjectID) (*storenode.View, error) {
	if ctx.Err() != nil {
		return nil, reason(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	o, ok := m.all[id]
	if !ok {
		return nil, &phalanx.Error{Op: "get", Object: id, Kind: phalanx.ErrNotFound, Err: fmt.Errorf("nobody has put it")}
	}
	return storenode.NewView(o.info, slices.Clone(o.data), unheld{}), nil
}

// Look implements objects.
func (m *memory) Look(ctx context.Context, r Ref) (phalanx.Meta, error) {
	v, err := m.TryGet(ctx, r.id)
	if err != nil {
		return phalanx.Meta{}, err
	}
	if v.Meta().Size != r.size || v.Info().Digest != r.digest {
		return phalanx.Meta{}, errUnlike(r)
	}
	return v.Meta(), nil
}

// unheld is the holder of bytes that the collector keeps.
type unheld struct{}

func (unheld) Release() {}
