package workflow

import (
	"context"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/storenode"
)

// stuckStore has a Put go on until its context ends.
type stuckStore struct {
	objects
	began chan struct{}
	ended bool // written before the Put returns
}

func (s *stuckStore) Put(ctx context.Context, id phalanx.ObjectID, data []byte, meta phalanx.Meta) (storenode.Info, error) {
	close(s.began)
	<-ctx.Done()
	s.ended = true
	return storenode.Info{}, reason(ctx)
}

// countingStore counts the calls, and the views that nobody has released.
type countingStore struct {
	objects
	calls, held int
}

func (s *countingStore) Put(ctx context.Context, id phalanx.ObjectID, data []byte, meta phalanx.Meta) (storenode.Info, error) {
	s.calls++
	return s.objects.Put(context.WithoutCancel(ctx), id, data, meta)
}

func (s *countingStore) TryGet(ctx context.Context, id phalanx.ObjectID) (*storenode.View, error) {
	s.calls++
	v, err := s.objects.TryGet(context.WithoutCancel(ctx), id)
	if err != nil {
		return nil, err
	}
	s.held++
	return storenode.NewView(v.Info(), v.Bytes(), s), nil
}

func (s *countingStore) Release() { s.held-- }

// unsureStore does what a Put asks, and says that it has failed.
type unsureStore struct{ objects }

func (s unsureStore) Put(ctx context.Context, id phalanx.ObjectID, data []byte, meta phalanx.Meta) (storenode.Info, error) {
	if _, err := s.objects.Put(ctx, id, data, meta); err != nil {
		return storenode.Info{}, err
	}
	return storenode.Info{}, &phalanx.Error{Op: "put", Object: id, Kind: phalanx.ErrUnavailable}
}
