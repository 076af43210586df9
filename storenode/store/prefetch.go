package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/storenode"
)

// prefetch has the asked nodes fetch an object: a broadcast that is pushed.
func (s *Store) prefetch(c actor.Context, m storenode.Prefetch) {
	respond := responder(c)
	s.env.Prefetch(context.Background(), m.Object, m.Nodes, s.deadline(m.Deadline), func(err error) {
		respond(&storenode.Prefetched{Object: m.Object, Err: err})
	})
}

// Prefetch asks nodes, or all members, to have the object and calls done when
// they do; the error names the first that failed. It waits no longer than ctx.
func (e *Env) Prefetch(ctx context.Context, id phalanx.ObjectID, nodes []phalanx.NodeID, deadline time.Duration, done func(error)) {
	if err := id.Validate(); err != nil {
		done(withOp("prefetch", id, err))
		return
	}
	if len(nodes) == 0 {
		nodes = e.Staying()
	}
	asked := map[phalanx.NodeID]bool{} // each once, however often it is named
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n phalanx.NodeID) bool {
		again := asked[n]
		asked[n] = true
		return again
	})
	go func() {
		errs := make([]error, len(nodes))
		var wg sync.WaitGroup
		for i, n := range nodes {
			wg.Add(1)
			go func() {
				defer wg.Done()
				errs[i] = e.prefetchOn(ctx, n, id, deadline)
			}()
		}
		wg.Wait()
		for _, err := range errs {
			if err != nil {
				done(err)
				return
			}
		}
		done(nil)
	}()
}

func (e *Env) prefetchOn(ctx context.Context, n phalanx.NodeID, id phalanx.ObjectID, deadline time.Duration) error {
	pid, ok := e.StoreOn(n)
	if !ok {
		return &phalanx.Error{Op: "prefetch", Object: id, Node: n, Kind: phalanx.ErrInvalid, Err: errors.New("the node is not a member of the cluster")}
	}
	req := messages.PrefetchToProto(messages.Prefetch{Objects: []phalanx.ObjectID{id}, Timeout: deadline})
	caller := ctx
	ctx, cancel := context.WithTimeout(context.WithoutCancel(caller), deadline+giveUpAfter) // the node's own error names the reason
	defer cancel()
	defer context.AfterFunc(caller, func() {
		if errors.Is(caller.Err(), context.Canceled) {
			cancel()
		}
	})()
	defer context.AfterFunc(e.lifetime().ctx, cancel)()
	res, err := e.Request(ctx, pid, req)
	if err != nil && e.isClosing() {
		return withOp("prefetch", id, e.Ended())
	}
	if err != nil {
		kind, _ := kindOf(err)
		return &phalanx.Error{Op: "prefetch", Object: id, Node: n, Kind: kind, Err: fmt.Errorf("the node did not answer: %w", err)}
	}
	rep, ok := res.(*messages.PrefetchReply)
	if !ok {
		return &phalanx.Error{Op: "prefetch", Object: id, Node: n, Kind: phalanx.ErrInternal, Err: fmt.Errorf("the node answered with a %T", res)}
	}
	errs := messages.PrefetchReplyFromProto(rep)
	if len(errs) == 0 {
		return nil
	}
	first := errs[0]
	first.Op = "prefetch"
	if first.Node == "" {
		first.Node = n
	}
	return first
}

// remote answers the requests of other nodes.
func (s *Store) remote(c actor.Context) {
	m, ok := c.Message().(*messages.PrefetchRequest)
	if !ok {
		actors.Unknown(c, "store")
		return
	}
	respond := responder(c)
	p, err := messages.PrefetchFromProto(m)
	if err != nil || len(p.Objects) == 0 {
		respond(messages.PrefetchReplyToProto(asErrors(err)))
		return
	}
	if s.env.Leaves() {
		respond(messages.PrefetchReplyToProto([]*phalanx.Error{s.env.Leaving()}))
		return
	}
	answers := make(chan error, len(p.Objects))
	for _, id := range p.Objects {
		s.begin(c, &call{op: "prefetch", object: id, wait: true, deliver: func(g any) {
			got := g.(*storenode.Got)
			if got.View != nil {
				got.View.Release()
			}
			answers <- got.Err
		}}, p.Timeout)
	}
	go func() { // every call is answered by its deadline
		var errs []*phalanx.Error
		for range p.Objects {
			errs = append(errs, asErrors(<-answers)...)
		}
		respond(messages.PrefetchReplyToProto(errs))
	}()
}

func asErrors(err error) []*phalanx.Error {
	var e *phalanx.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		return []*phalanx.Error{e}
	}
	return []*phalanx.Error{{Kind: phalanx.ErrInternal, Err: err}}
}
