package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"strings"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

// pair returns a cluster of two nodes, here in one process.
func pair(ctx context.Context) (a, b *cluster.Node, leave func()) {
	a = value(cluster.Join(ctx, cluster.Config{Name: "a"}))
	b = value(cluster.Join(ctx, cluster.Config{Name: "b", Seeds: []string{a.ControlAddr()}}))
	return a, b, func() {
		okay(b.Leave(ctx))
		okay(a.Leave(ctx))
	}
}

func value[T any](v T, err error) T {
	okay(err)
	return v
}

func okay(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// A node without seeds is a cluster of its own; others join it by its address.
func ExampleJoin() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	first, err := cluster.Join(ctx, cluster.Config{Name: "first"})
	okay(err)
	defer func() { okay(first.Leave(ctx)) }()
	second, err := cluster.Join(ctx, cluster.Config{Name: "second", Seeds: []string{first.ControlAddr()}})
	okay(err)
	for _, m := range second.View().Members {
		fmt.Println(m.ID.Name())
	}
	okay(second.Leave(ctx)) // hands over what only it has
	// Output:
	// first
	// second
}

// An actor sends the store's messages to its node and gets answers.
func ExampleNode_Spawn() {
	ctx := context.Background()
	a, b, leave := pair(ctx)
	defer leave()
	done := make(chan struct{})
	value(b.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch m := c.Message().(type) {
		case *actor.Started:
			c.Request(b.Store(), &storenode.Get{Object: "greeting"}) // waits until it is put
		case *storenode.Got:
			okay(m.Err)
			fmt.Printf("%s\n", m.View.Bytes())
			m.View.Release()
			close(done)
		}
	}), "reader"))
	value(a.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		if _, ok := c.Message().(*actor.Started); ok {
			c.Request(a.Store(), &storenode.Put{Object: "greeting", Bytes: []byte("hello")})
		}
	}), "writer"))
	<-done
	// Output: hello
}

// Kinds are what other members may start here.
func ExampleNode_SpawnOn() {
	ctx := context.Background()
	kinds := map[string]func(*cluster.Node) *actor.Props{
		"greeter": func(n *cluster.Node) *actor.Props {
			return actor.PropsFromFunc(func(c actor.Context) {
				if _, ok := c.Message().(*actor.Started); ok {
					c.Request(n.Store(), &storenode.Put{Object: "from", Bytes: []byte(n.ID().Name())})
				}
			})
		},
	}
	a := value(cluster.Join(ctx, cluster.Config{Name: "a", Kinds: kinds}))
	b := value(cluster.Join(ctx, cluster.Config{Name: "b", Kinds: kinds, Seeds: []string{a.ControlAddr()}}))
	value(a.SpawnOn(ctx, b.ID(), "greeter", ""))
	v := value(a.Get(ctx, "from"))
	fmt.Printf("%s\n", v.Bytes())
	v.Release()
	okay(b.Leave(ctx))
	okay(a.Leave(ctx))
	// Output: b
}

// Equal bytes under one id are welcome, others are not.
func ExampleNode_Put() {
	ctx := context.Background()
	a, b, leave := pair(ctx)
	defer leave()
	info := value(a.Put(ctx, "weights/7", []byte("0123")))
	fmt.Println(info.Meta.Size, "bytes")
	value(b.Put(ctx, "weights/7", []byte("0123")))
	_, err := b.Put(ctx, "weights/7", []byte("4567"))
	fmt.Println(errors.Is(err, phalanx.ErrExists))
	// Output:
	// 4 bytes
	// true
}

// With copies, the Put returns when so many nodes have a complete pinned copy.
func ExampleWithCopies() {
	ctx := context.Background()
	a, _, leave := pair(ctx)
	defer leave()
	value(a.Put(ctx, "kept", make([]byte, 100_000), cluster.WithCopies(2)))
	fmt.Println(len(value(a.Stat(ctx, "kept")).Holders), "copies")
	// Output: 2 copies
}

// Others can read the object while it is written.
func ExampleNode_PutReader() {
	ctx := context.Background()
	a, b, leave := pair(ctx)
	defer leave()
	info := value(a.PutReader(ctx, "log", strings.NewReader("line after line"), phalanx.UnknownSize))
	fmt.Println(info.Meta.Size)
	v := value(b.Get(ctx, "log"))
	defer v.Release()
	fmt.Printf("%s\n", v.Bytes())
	// Output:
	// 15
	// line after line
}

// Get waits; the error says what was missing.
func ExampleNode_Get() {
	ctx := context.Background()
	a, _, leave := pair(ctx)
	defer leave()
	soon, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := a.Get(soon, "weights/8")
	fmt.Println(err)
	// Output: get "weights/8": deadline: nobody has announced it
}

func ExampleNode_TryGet() {
	ctx := context.Background()
	a, _, leave := pair(ctx)
	defer leave()
	_, err := a.TryGet(ctx, "weights/8")
	fmt.Println(errors.Is(err, phalanx.ErrNotFound))
	// Output: true
}

// A reader gets bytes as they arrive.
func ExampleNode_Open() {
	ctx := context.Background()
	a, b, leave := pair(ctx)
	defer leave()
	value(a.Put(ctx, "text", []byte("streamed")))
	r := value(b.Open(ctx, "text"))
	defer func() { okay(r.Close()) }()
	fmt.Printf("%s\n", value(io.ReadAll(r)))
	// Output: streamed
}

func ExampleNode_Delete() {
	ctx := context.Background()
	a, _, leave := pair(ctx)
	defer leave()
	value(a.Put(ctx, "old", []byte("x")))
	okay(a.Delete(ctx, "old"))
	_, err := a.TryGet(ctx, "old")
	fmt.Println(errors.Is(err, phalanx.ErrDeleted))
	// Output: true
}

func ExampleNode_Stat() {
	ctx := context.Background()
	a, _, leave := pair(ctx)
	defer leave()
	value(a.Put(ctx, "model", make([]byte, 1<<20)))
	st := value(a.Stat(ctx, "model"))
	fmt.Println(st.State, st.Meta.Size, st.Holders[0].Node.Name(), st.Holders[0].Pinned)
	// Output: final 1048576 a true
}

func ExampleNode_List() {
	ctx := context.Background()
	a, b, leave := pair(ctx)
	defer leave()
	for _, id := range []phalanx.ObjectID{"run/2", "run/1", "other"} {
		value(a.Put(ctx, id, []byte("x")))
	}
	for _, st := range value(b.List(ctx, "run/")) {
		fmt.Println(st.Object)
	}
	// Output:
	// run/1
	// run/2
}

// Watch tells where an object can be read, now and later.
func ExampleNode_Watch() {
	ctx := context.Background()
	a, b, leave := pair(ctx)
	defer leave()
	value(a.Put(ctx, "model", make([]byte, 1<<20)))
	okay(b.Watch(ctx, "model", func(l cluster.Locations) bool {
		if len(l.Complete) == 0 {
			return true
		}
		fmt.Println(l.State, l.Complete[0].Name())
		return false
	}))
	// Output: final a
}

// Prefetch is a broadcast that is pushed.
func ExampleNode_Prefetch() {
	ctx := context.Background()
	a, b, leave := pair(ctx)
	defer leave()
	value(a.Put(ctx, "model", make([]byte, 1<<20)))
	okay(a.Prefetch(ctx, "model"))
	fmt.Println(b.Status().Complete, "complete copy at b")
	// Output: 1 complete copy at b
}

// The first two of three sources that are ready are added up.
func ExampleNode_Reduce() {
	ctx := context.Background()
	a, b, leave := pair(ctx)
	defer leave()
	value(cluster.PutArray(ctx, a, "g/1", []float32{1, 2, 3}))
	value(cluster.PutArray(ctx, b, "g/2", []float32{10, 20, 30}))
	res := value(a.Reduce(ctx, storenode.Reduce{Target: "g", Sources: []phalanx.ObjectID{"g/1", "g/2", "g/3"}, Op: phalanx.Sum, Num: 2}))
	sum := value(cluster.GetArray[float32](ctx, b, "g"))
	defer sum.Release()
	fmt.Println(sum.Values(), "without", res.Out)
	// Output: [11 22 33] without [g/3]
}

func ExamplePutArray() {
	ctx := context.Background()
	a, b, leave := pair(ctx)
	defer leave()
	value(cluster.PutArray(ctx, a, "matrix", []int32{1, 2, 3, 4, 5, 6}, 2, 3))
	m := value(cluster.GetArray[int32](ctx, b, "matrix"))
	defer m.Release()
	fmt.Println(m.Shape(), m.Values())
	// Output: [2 3] [1 2 3 4 5 6]
}

func ExampleNode_Events() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	a := value(cluster.Join(ctx, cluster.Config{Name: "a"}))
	events := a.Events(ctx)
	b := value(cluster.Join(ctx, cluster.Config{Name: "b", Seeds: []string{a.ControlAddr()}}))
	for e := range events {
		if j, ok := e.(actors.NodeJoined); ok {
			fmt.Println(j.Node.Name(), "joined")
			break
		}
	}
	okay(b.Leave(ctx))
	okay(a.Leave(ctx))
	// Output: b joined
}

// The first two results of three are enough.
func ExampleNode_Gather() {
	ctx := context.Background()
	a, b, leave := pair(ctx)
	defer leave()
	value(a.Put(ctx, "result/1", []byte("one")))
	value(b.Put(ctx, "result/3", []byte("three")))
	g := value(a.Gather(ctx, []phalanx.ObjectID{"result/1", "result/2", "result/3"}, 2))
	for _, v := range g.Views {
		if v != nil {
			fmt.Printf("%s %s\n", v.Info().Object, v.Bytes())
			v.Release()
		}
	}
	// Output:
	// result/1 one
	// result/3 three
}

// Each worker puts its gradient and gets the sum of all.
func ExampleNode_AllReduce() {
	ctx := context.Background()
	a, b, leave := pair(ctx)
	defer leave()
	sum := storenode.Reduce{Target: "sum", Sources: []phalanx.ObjectID{"gradient/a", "gradient/b"}, Op: phalanx.Sum}
	var workers sync.WaitGroup
	for i, n := range []*cluster.Node{a, b} {
		workers.Go(func() {
			value(cluster.PutArray(ctx, n, sum.Sources[i], []float32{float32(i), 10}))
			view, _, err := n.AllReduce(ctx, sum)
			okay(err)
			array := value(cluster.ArrayOf[float32](view))
			defer array.Release()
			fmt.Println(array.Values())
		})
	}
	workers.Wait()
	// Output:
	// [1 20]
	// [1 20]
}
