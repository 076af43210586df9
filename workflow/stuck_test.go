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
