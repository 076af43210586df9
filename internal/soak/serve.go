package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/children"
	"github.com/phalanx-go/phalanx/storenode"
)

// server is the inside of a process.
type server struct {
	node  *cluster.Node
	world *world // of a node of workflows
	calls sync.WaitGroup

	mu     sync.Mutex
	closed bool // no call begins any more
}

const (
	// nodeMemory is the cap of a node. A node that has read most objects has to evict
	// some of them; pinned copies fit, also on the fewest nodes.
	nodeMemory = 32 << 20
	leaveGrace = 20 * time.Second // of a process that is asked to end
)

// Node is the inside of a process: a node that carries out the driver's orders until the
// driver asks it to leave.
func Node(name string, seeds []string) error {
	runtime.GOMAXPROCS(1) // as many nodes as there are share the machine
	life, end := children.Lifetime(leaveGrace)
	defer end()
	ctx, cancel := context.WithTimeout(life, joining)
	defer cancel()
	node, err := cluster.Join(ctx, cluster.Config{Name: name, Cluster: "soak", Seeds: seeds, Memory: nodeMemory, Deadline: callDeadline})
	if err != nil {
		return err
	}
	return serve(life, &server{node: node})
}

// serve has the node carry out the driver's orders until ctx ends, then has it leave and
// answers the calls that still run.
func serve(ctx context.Context, s *server) error {
	node := s.node
	events, cancel := context.WithCancel(context.Background())
	defer cancel()
	var telling sync.WaitGroup
	telling.Go(func() {
		for e := range node.Events(events) {
			data, _ := json.Marshal(e) // events always can be
			children.Say(line{Event: e.Kind(), Data: data})
		}
	})
	telling.Go(func() { feel(events, func(d time.Duration) { children.Say(line{Stood: d}) }) })
	first := line{Node: &nodeState{}}
	first.Node.fill(node)
	children.Say(first)
	go func() { _ = children.Orders(s.take) }() // until the driver closes its end, which is after this process
	<-ctx.Done()
	if errors.Is(context.Cause(ctx), children.ErrOrphan) {
		return nil // at once: no process is left to hand over to
	}
	leaving, stop := context.WithTimeout(context.Background(), leaveGrace*3/4)
	defer stop()
	err := node.Leave(leaving) // calls go on: a put that succeeds now must not be lost
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.calls.Wait()
	cancel()
	telling.Wait()
	return err
}

func (s *server) take(o order) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.calls.Go(func() { s.carryOut(o) })
	}
}

func (s *server) carryOut(o order) {
	ctx, cancel := context.WithTimeout(context.Background(), o.Deadline)
	defer cancel()
	if o.Cancel > 0 {
		time.AfterFunc(o.Cancel, cancel)
	}
	l, began := line{N: o.N}, time.Now()
	err := s.do(ctx, o, &l)
	l.Took = time.Since(began)
	if err != nil {
		l.Err, l.Kind = err.Error(), phalanx.ErrInternal
		if e := (*phalanx.Error)(nil); errors.As(err, &e) {
			l.Kind = e.Kind
		}
	}
	children.Say(l)
}

func (s *server) do(ctx context.Context, o order, l *line) error {
	switch o.Do {
	case "put":
		return s.put(ctx, o)
	case "get":
		return s.get(ctx, o, l)
	case "open":
		return s.open(ctx, o, l)
	case "prefetch":
		return s.node.Prefetch(ctx, o.Object)
	case "delete":
		return s.node.Delete(ctx, o.Object)
	case "stat":
		st, err := s.node.Stat(ctx, o.Object)
		l.State, l.Size, l.Inline = st.State.String(), st.Meta.Size, st.Inline
		for _, h := range st.Holders {
			if h.Complete && h.Pinned {
				l.Pinned++
			}
		}
		return err
	case "list":
		all, err := s.node.List(ctx, string(o.Object))
		for _, st := range all {
			l.In = append(l.In, st.Object)
			l.Of = append(l.Of, st.Origin)
		}
		return err
	case "reduce":
		r, err := s.node.Reduce(ctx, storenode.Reduce{Target: o.Object, Sources: o.Sources, Op: phalanx.Sum, Num: o.Num})
		l.In, l.Out = r.In, r.Out
		return err
	case "state":
		l.Node = &nodeState{}
		l.Node.fill(s.node)
		l.Node.Goroutines, l.Node.Descriptors = runtime.NumGoroutine(), descriptors()
		if o.Rest {
			l.Node.Heap = heap()
		}
		return nil
	}
	if o.Run != nil {
		l.Run = &runState{}
		return s.run(ctx, o.Do, *o.Run, l.Run)
	}
	return &phalanx.Error{Kind: phalanx.ErrInvalid, Err: errors.New("there is no order " + o.Do)}
}

// heap returns how many bytes are in use without garbage.
func heap() int64 {
	runtime.GC()
	runtime.GC() // the contents of a sync.Pool survive one
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

func descriptors() int {
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(all)
}

func (s *server) put(ctx context.Context, o order) error {
	data := made(o.Seed, o.Size)
	opts := []cluster.PutOption{cluster.WithCopies(max(o.Copies, 1))}
	if o.Array {
		opts = append(opts, cluster.WithArray(phalanx.Int64, o.Size/8))
	}
	var err error
	if o.Unsized {
		_, err = s.node.PutReader(ctx, o.Object, bytes.NewReader(data), phalanx.UnknownSize, opts...)
	} else {
		_, err = s.node.Put(ctx, o.Object, data, opts...)
	}
	return err
}

func (s *server) get(ctx context.Context, o order, l *line) error {
	get := s.node.Get
	if o.Try {
		get = s.node.TryGet
	}
	v, err := get(ctx, o.Object)
	if err != nil {
		return err
	}
	defer v.Release()
	l.Version, l.Size = hash(v.Bytes()), int64(len(v.Bytes()))
	if o.Hold == 0 {
		return nil
	}
	pause(context.Background(), o.Hold)
	if now := hash(v.Bytes()); now != l.Version {
		return &phalanx.Error{Op: "get", Object: o.Object, Kind: phalanx.ErrInternal, Err: fmt.Errorf("a view's bytes have changed within %v from %s to %s", o.Hold, l.Version, now)}
	}
	return nil
}

func (s *server) open(ctx context.Context, o order, l *line) error {
	open := s.node.Open
	if o.Try {
		open = s.node.TryOpen
	}
	r, err := open(ctx, o.Object)
	if err != nil {
		return err
	}
	defer r.Close()
	var all bytes.Buffer
	if o.Hold > 0 {
		if _, err := io.CopyN(&all, r, o.Size); err != nil && err != io.EOF {
			return err
		}
		pause(ctx, o.Hold)
	}
	if _, err := r.WriteTo(&all); err != nil {
		return err
	}
	l.Version, l.Size = hash(all.Bytes()), int64(all.Len())
	return nil
}
