package workflow

import (
	"context"
	"errors"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/messages"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// resultReader reads an output with which a run has ended.
type resultReader struct {
	node *cluster.Node
	pid  *actor.PID // of the service; nil: this node has none
	run  core.UID
}

// bytes returns the bytes of an output, which are valid until they are released.
func (r Run[R]) bytes(ctx context.Context, l core.Located) ([]byte, func(), error) {
	g := givenOf(r.uid, l)
	if g.object.IsZero() {
		return g.bytes, func() {}, nil
	}
	rr := resultReader{node: r.node, run: r.uid}
	rr.pid, _ = r.node.Service(Name)
	return rr.read(ctx, g, l)
}

func (r resultReader) read(ctx context.Context, g given, l core.Located) ([]byte, func(), error) {
	store := nodeStore{r.node}
	v, err := store.TryGet(ctx, g.object.id)
	if err = r.orAgain(ctx, err, flow.WishOf(r.run, l)); err == nil && v == nil {
		v, err = store.TryGet(ctx, g.object.id)
	}
	if err != nil {
		return nil, nil, err
	}
	if !g.bundle {
		return v.Bytes(), v.Release, nil
	}
	defer v.Release()
	b, refs, err := messages.UnmarshalBundle(v.Bytes())
	if err != nil {
		return nil, nil, err
	}
	named := flow.NewSources(r.run)
	named.Add(l, refs)
	err = each(ctx, len(refs), func(ctx context.Context, i int) error {
		ref := Ref{id: refs[i].Object, size: refs[i].Meta.Size, digest: refs[i].Digest}
		_, err := store.Look(ctx, ref)
		if flow.RunOf(string(ref.id)) != r.run.String() && (errors.Is(err, phalanx.ErrDeleted) || errors.Is(err, phalanx.ErrMismatch)) {
			return nil // a caller has passed it to the run, and has deleted it since
		}
		n, _ := named.Naming(ref.id)
		if err = r.orAgain(ctx, err, n.Wish); err != nil {
			return fmt.Errorf("the result names the object %s: %w", ref.id, err)
		}
		return nil
	})
	return b, func() {}, err
}

// orAgain has an object put again if a read says that it is gone. The node notes what it has of the run, so that that goes with it.
func (r resultReader) orAgain(ctx context.Context, read error, w flow.Wish) error {
	if r.pid == nil {
		return read
	}
	r.node.System().Root.Send(r.pid, resulting{r.run, w.Object})
	if read == nil || !gone(read) || len(w.Disks) == 0 {
		return read
	}
	_, err := putBack(ctx, r.node.System().Root, r.pid, w, nil)
	return err
}
