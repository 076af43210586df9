package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

const (
	flightSize = 64 << 10
	reduceSize = 1 << 20
	small      = 1 << 10
	large      = 1 << 20
)

// runs is how often a measurement of n things at once is repeated.
func runs(n int) int { return min(max(3, 300/n), 100) }

// together makes n calls of f at once, and returns their time divided by n.
func together(ctx context.Context, n int, f func(ctx context.Context, i int) error) (time.Duration, error) {
	g, ctx := errgroup.WithContext(ctx)
	start := time.Now()
	for i := range n {
		g.Go(func() error { return f(ctx, i) })
	}
	err := g.Wait()
	return time.Since(start) / time.Duration(n), err
}

// flight measures a node that gets all objects of another one at once.
func flight(ctx context.Context, p *point, ns []*cluster.Node) error {
	data := make([]byte, flightSize)
	id := func(run, i int) phalanx.ObjectID { return phalanx.ObjectID(fmt.Sprintf("f/%d/%d", run, i)) }
	var took []time.Duration
	once := func(run int) error {
		if _, err := together(ctx, p.N, func(ctx context.Context, i int) error {
			_, err := ns[0].Put(ctx, id(run, i), data)
			return err
		}); err != nil {
			return err
		}
		each, err := together(ctx, p.N, func(ctx context.Context, i int) error { return touch(ctx, ns[1], id(run, i)) })
		took = append(took, each)
		return err
	}
	clear := func(run int) error {
		_, err := together(ctx, p.N, func(ctx context.Context, i int) error { return ns[0].Delete(ctx, id(run, i)) })
		return err
	}
	if err := p.repeat(2*flightSize, once, clear); err != nil {
		return err
	}
	p.Us["get"] = median(took[1:])
	return nil
}

// repeat does one run to measure the memory that each object takes besides its bytes,
// which also warms up, and other runs to measure the time.
func (p *point) repeat(bytes float64, once, clear func(run int) error) error {
	more, err := peak(func() error { return once(0) })
	if err != nil {
		return err
	}
	p.Each = more/float64(p.N) - bytes
	for run := range runs(p.N) {
		if err := clear(run); err != nil {
			return err
		}
		if err := once(run + 1); err != nil {
			return err
		}
	}
	return nil
}

// touch gets an object and releases it.
func touch(ctx context.Context, n *cluster.Node, id phalanx.ObjectID) error {
	v, err := n.Get(ctx, id)
	if err == nil {
		v.Release()
	}
	return err
}

// reduces measures reduces of an array of each node. The nodes ask for them in turn.
func reduces(ctx context.Context, p *point, ns []*cluster.Node) error {
	values := make([]float32, reduceSize/4)
	source := func(run, i, k int) phalanx.ObjectID { return phalanx.ObjectID(fmt.Sprintf("r/%d/%d/%d", run, i, k)) }
	target := func(run, i int) phalanx.ObjectID { return phalanx.ObjectID(fmt.Sprintf("r/%d/%d/sum", run, i)) }
	var took []time.Duration
	once := func(run int) error {
		if _, err := together(ctx, p.N*len(ns), func(ctx context.Context, j int) error {
			_, err := cluster.PutArray(ctx, ns[j%len(ns)], source(run, j/len(ns), j%len(ns)), values)
			return err
		}); err != nil {
			return err
		}
		each, err := together(ctx, p.N, func(ctx context.Context, i int) error {
			r := storenode.Reduce{Target: target(run, i), Op: phalanx.Sum}
			for k := range ns {
				r.Sources = append(r.Sources, source(run, i, k))
			}
			_, err := ns[i%len(ns)].Reduce(ctx, r)
			return err
		})
		took = append(took, each)
		return err
	}
	clear := func(run int) error {
		_, err := together(ctx, p.N, func(ctx context.Context, i int) error {
			for k := range ns {
				if err := ns[i%len(ns)].Delete(ctx, source(run, i, k)); err != nil {
					return err
				}
			}
			return ns[i%len(ns)].Delete(ctx, target(run, i))
		})
		return err
	}
	if err := p.repeat(float64(len(ns)+1)*reduceSize, once, clear); err != nil {
		return err
	}
	p.Us["reduce"] = median(took[1:])
	return nil
}

// held measures puts and gets while the cluster holds many small objects, each at its
// owner, its backup and its node.
func held(ctx context.Context, p *point, ns []*cluster.Node) error {
	runtime.GC()
	debug.FreeOSMemory()
	before, err := status("VmRSS")
	if err != nil {
		return err
	}
	data := make([]byte, small)
	const callers = 64
	if _, err := together(ctx, callers, func(ctx context.Context, c int) error {
		for i := c; i < p.N; i += callers {
			if _, err := ns[i%len(ns)].Put(ctx, phalanx.ObjectID(fmt.Sprintf("h/%d", i)), data); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return err
	}
	runtime.GC()
	debug.FreeOSMemory()
	after, err := status("VmRSS")
	if err != nil {
		return err
	}
	p.Each = (after-before)/float64(p.N) - small
	return p.one(ctx, ns, small, "put", "get")
}

// views measures puts and gets while the reader holds many views.
func views(ctx context.Context, p *point, ns []*cluster.Node) error {
	data := make([]byte, flightSize)
	for i := range p.N {
		id := phalanx.ObjectID(fmt.Sprintf("v/%d", i))
		if _, err := ns[0].Put(ctx, id, data); err != nil {
			return err
		}
		if _, err := ns[1].Get(ctx, id); err != nil { // and keeps it
			return err
		}
	}
	return p.both(ctx, ns)
}

// events measures puts and gets while readers take the events.
func events(ctx context.Context, p *point, ns []*cluster.Node) error {
	for range p.N {
		for _, n := range ns {
			all := n.Events(ctx)
			go func() {
				for range all {
					runtime.Gosched() // only read
				}
			}()
		}
	}
	return p.both(ctx, ns)
}

func (p *point) both(ctx context.Context, ns []*cluster.Node) error {
	if err := p.one(ctx, ns, small, "put 1 KB", "get 1 KB"); err != nil {
		return err
	}
	return p.one(ctx, ns, large, "put 1 MB", "get 1 MB")
}

// one measures calls one after the other: a put on one node, and a get of the object
// on another.
func (p *point) one(ctx context.Context, ns []*cluster.Node, size int, put, get string) error {
	const times = 300
	data := make([]byte, size)
	var puts, gets []time.Duration
	for i := range times {
		id := phalanx.ObjectID(fmt.Sprintf("one/%d/%d", size, i))
		start := time.Now()
		if _, err := ns[0].Put(ctx, id, data); err != nil {
			return err
		}
		between := time.Now()
		if err := touch(ctx, ns[1], id); err != nil {
			return err
		}
		puts, gets = append(puts, between.Sub(start)), append(gets, time.Since(between))
		if err := ns[0].Delete(ctx, id); err != nil {
			return err
		}
	}
	p.Us[put], p.Us[get] = median(puts[times/10:]), median(gets[times/10:])
	return nil
}
