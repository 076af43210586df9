package workflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// objects is what attempts need of a store.
type objects interface {
	// Put makes an object of bytes, which it copies. The same bytes may be put again; others are ErrExists.
	Put(ctx context.Context, id phalanx.ObjectID, data []byte, meta phalanx.Meta) (storenode.Info, error)
	// TryGet returns a view, which the caller releases; ErrNotFound if nobody has put the object.
	TryGet(ctx context.Context, id phalanx.ObjectID) (*storenode.View, error)
}

// nodeStore is the store of a node.
type nodeStore struct{ *cluster.Node }

func (s nodeStore) Put(ctx context.Context, id phalanx.ObjectID, data []byte, meta phalanx.Meta) (storenode.Info, error) {
	if meta.DType == phalanx.Bytes && meta.Shape == nil {
		return s.Node.Put(ctx, id, data)
	}
	return s.Node.Put(ctx, id, data, cluster.WithArray(meta.DType, meta.Shape...))
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

// unheld is the holder of bytes that the collector keeps.
type unheld struct{}

func (unheld) Release() {}
