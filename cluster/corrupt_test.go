package cluster_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

// lostSenders counts the senders that a node gives up, with their causes.
func lostSenders(t testing.TB, n *cluster.Node) func() []string {
	ctx, cancel := context.WithCancel(context.Background())
	var mu sync.Mutex
	var causes []string
	var wg sync.WaitGroup
	events := n.Events(ctx)
	wg.Go(func() {
		for ev := range events {
			if e, ok := ev.(actors.SenderLost); ok {
				mu.Lock()
				causes = append(causes, e.Cause)
				mu.Unlock()
			}
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return append([]string(nil), causes...)
	}
}

// flip spoils the first byte of each of the first n streams to a receiver.
func flip(to string, n int) (pass func(*bentStream, byte, []byte), flipped func() int) {
	var mu sync.Mutex
	done := 0
	return func(s *bentStream, kind byte, payload []byte) {
			mu.Lock()
			defer mu.Unlock()
			if s.to == to && kind == frameData && s.data == 1 && done < n {
				done++
				payload[0] ^= 4 // of the same piece each time
			}
		}, func() int {
			mu.Lock()
			defer mu.Unlock()
			return done
		}
}

// TestBadBytesOnALink spoils bytes on the way (specification 3.4): a bad piece is
// asked for again of the same sender; when it is bad again the sender is reported,
// and the only copy is asked again after a while.
func TestBadBytesOnALink(t *testing.T) {
	for times := 1; times <= 2; times++ {
		t.Run(fmt.Sprintf("%d times", times), func(t *testing.T) {
			nodes, links := startBent(t, 2, "n1")
			ctx := within(t)
			data := random(3<<20+77, 9)
			if _, err := nodes[0].Put(ctx, "x", data); err != nil {
				t.Fatal(err)
			}
			lost := lostSenders(t, nodes[1])
			pass, flipped := flip("n2", times)
			links["n1"].set(pass)
			brings(t, "the receiver", getting(ctx, nodes[1], "x"), data)
			if flipped() != times {
				t.Errorf("%d pieces were spoiled, want %d", flipped(), times)
			}
			if times == 2 {
				eventually(t, "the sender was reported", func() bool { return len(lost()) == 1 })
			} else if l := lost(); len(l) > 0 {
				t.Errorf("the sender was given up: %v", l)
			}
			if s := nodes[0].Status(); s.Complete != 1 {
				t.Errorf("the sender, whose bytes are good, has %d complete copies", s.Complete)
			}
		})
	}
}

// TestBadBytesInAChain spoils bytes on the way to a node that sends them on as
// they come: it and the one behind it find the same piece bad, and each looks at
// itself first. Nobody is given up.
func TestBadBytesInAChain(t *testing.T) {
	nodes, links := startBent(t, 3, "n1", "n2")
	ctx := within(t)
	data := random(8<<20, 9)
	if _, err := nodes[0].Put(ctx, "x", data); err != nil {
		t.Fatal(err)
	}
	var lost []func() []string
	for _, n := range nodes {
		lost = append(lost, lostSenders(t, n))
	}
	chained := make(chan struct{})
	var once sync.Once
	links["n1"].set(func(s *bentStream, kind byte, payload []byte) {
		if s.to == "n2" && kind == frameData && s.data == 8 {
			<-chained
			once.Do(func() { payload[100] ^= 4 })
		}
	})
	first := getting(ctx, nodes[1], "x")
	eventually(t, "the first receiver has begun", func() bool { return links["n1"].bytesTo("n2") > 0 })
	second := getting(ctx, nodes[2], "x")
	eventually(t, "the second receiver has begun", func() bool { return links["n2"].bytesTo("n3") > 0 })
	close(chained)
	brings(t, "the first receiver", first, data)
	brings(t, "the second receiver", second, data)
	if n := links["n1"].bytesTo("n3"); n > 0 {
		t.Errorf("%d bytes went past the chain", n)
	}
	for i, l := range lost {
		if l := l(); len(l) > 0 {
			t.Errorf("%s gave senders up: %v", nodes[i].ID(), l)
		}
	}
}

// TestCopyThatRots changes a complete copy in the memory of its node. The sender
// finds that out by its own check and drops the copy: the receiver goes on with
// another one, or, when it was the only one, waits for it to be put again.
func TestCopyThatRots(t *testing.T) {
	for _, copies := range []int{1, 2} {
		t.Run(fmt.Sprintf("%d copies", copies), func(t *testing.T) {
			nodes := start(t, 3)
			ctx := within(t)
			data := random(2<<20, 5)
			if _, err := nodes[0].Put(ctx, "x", data); err != nil {
				t.Fatal(err)
			}
			if copies == 2 {
				brings(t, "the other holder", getting(ctx, nodes[1], "x"), data)
			}
			v, err := nodes[0].Get(ctx, "x")
			if err != nil {
				t.Fatal(err)
			}
			v.Bytes()[1<<20] ^= 1
			v.Release()
			third := getting(ctx, nodes[2], "x")
			if copies == 1 { // of two, the other may be read
				eventually(t, "the bad copy was dropped", func() bool { return nodes[0].Status().Objects == 0 })
				eventually(t, "the object is lost", func() bool {
					st, err := nodes[1].Stat(ctx, "x")
					return err == nil && st.State.String() == "lost"
				})
				if _, err := nodes[1].Put(ctx, "x", data); err != nil {
					t.Fatal(err)
				}
			}
			brings(t, "the receiver", third, data)
		})
	}
}

// TestWrongDigest records a digest for bytes that do not have it: every piece is as
// its origin made it, and their digest is not. The origin is blamed, and the
// generation withdrawn.
func TestWrongDigest(t *testing.T) {
	nodes := start(t, 3)
	ctx := within(t)
	data := random(1<<20, 3)
	source, end := io.Pipe()
	put := make(chan error, 1)
	go func() {
		_, err := nodes[0].PutReader(ctx, "x", source, int64(len(data)))
		put <- err
	}()
	if _, err := end.Write(data); err != nil {
		t.Fatal(err)
	}
	get := getting(ctx, nodes[1], "x")
	eventually(t, "every byte has arrived", func() bool {
		tree, err := nodes[1].Tree(ctx, "x")
		if err != nil {
			return false
		}
		for _, h := range tree.Nodes {
			if h.Node == nodes[1].ID() && h.Held == int64(len(data)) {
				return true
			}
		}
		return false
	})
	if err := nodes[0].Finalise(ctx, "x", phalanx.Digest{1}); err != nil {
		t.Fatal(err)
	}
	g := <-get
	refused(t, "a get of what is not what its origin says", g.err, phalanx.ErrCorrupt, `"x"`, string(nodes[0].ID()))
	refused(t, "its put", <-put, phalanx.ErrAborted)
	_ = end.Close()
	for _, n := range nodes {
		quiet(t, n, 0)
	}
	if _, err := nodes[2].Put(ctx, "x", data); err != nil {
		t.Fatalf("the id is not free: %v", err)
	}
	brings(t, "a get of what was put then", getting(ctx, nodes[1], "x"), data)
}

// TestOneAccuser has a node without a copy say that the digest of an object is wrong.
// Holders look at their copies, which are right, and it stays; a copy that has changed
// in memory is found by that, and another holder is asked.
func TestOneAccuser(t *testing.T) {
	for _, size := range []int{1000, 300_000} {
		for _, rots := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d bytes, one copy has changed: %v", size, rots), func(t *testing.T) {
				nodes := start(t, 4)
				ctx := within(t)
				eventually(t, "settled", func() bool { return nodes[0].Settled(ctx) }) // no owner asks the holders in another order
				data := random(size, 4)
				info, err := nodes[0].Put(ctx, "x", data, cluster.WithCopies(3))
				if err != nil {
					t.Fatal(err)
				}
				holders := func() (all []phalanx.NodeID) {
					st, err := nodes[3].Stat(ctx, "x")
					if err != nil {
						t.Fatal(err)
					}
					for _, h := range st.Holders {
						if h.Complete && h.Pinned {
							all = append(all, h.Node)
						}
					}
					return all
				}
				had := holders()
				first := nodes[slices.IndexFunc(nodes, func(n *cluster.Node) bool { return n.ID() == had[0] })] // is asked first
				accuser := nodes[slices.IndexFunc(nodes, func(n *cluster.Node) bool { return !slices.Contains(had, n.ID()) })]
				if rots {
					v, err := first.Get(ctx, "x")
					if err != nil {
						t.Fatal(err)
					}
					v.Bytes()[size/2] ^= 1
					v.Release()
				}
				if err := accuser.Accuse(ctx, "x", info.Gen); err != nil {
					t.Fatal(err)
				}
				if rots {
					eventually(t, "the copy that has changed is replaced, perhaps at the same node", func() bool {
						v, err := first.Get(ctx, "x")
						if err != nil {
							t.Fatal(err)
						}
						defer v.Release()
						return bytes.Equal(v.Bytes(), data) && len(holders()) == 3
					})
				}
				brings(t, "the accuser", getting(ctx, accuser, "x"), data)
				eventually(t, "there are three pinned copies", func() bool { return len(holders()) == 3 })
			})
		}
	}
}

// TestSmallCopyThatRots changes copies of small objects in the memory of a node, which
// owns some of them. Others get their bytes from the owner as they were put.
func TestSmallCopyThatRots(t *testing.T) {
	nodes := start(t, 3)
	ctx := within(t)
	for i := range 32 {
		id, data := phalanx.ObjectID(fmt.Sprint("x", i)), random(1000, uint64(i))
		put(t, nodes[0], id, data)
		v, err := nodes[1].Get(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		v.Bytes()[500] ^= 1
		v.Release()
		brings(t, "a get at another node", getting(ctx, nodes[2], id), data)
	}
}

// TestWrongDigestOfInlineBytes has an origin send small bytes with the digest of
// others: their owner does not take them.
func TestWrongDigestOfInlineBytes(t *testing.T) {
	nodes := start(t, 3)
	ctx := within(t)
	data := random(1000, 4)
	refused(t, "inline bytes with a wrong digest", nodes[0].PutInline(ctx, "x", data, phalanx.Digest{1}), phalanx.ErrCorrupt)
	put(t, nodes[1], "x", data)
	brings(t, "a get of what was put then", getting(ctx, nodes[2], "x"), data)
}

// TestBadBytesInAReduce spoils a piece on the way from a place to its parent,
// which has combined it before it can know: that is made again, and what is final
// is right.
func TestBadBytesInAReduce(t *testing.T) {
	for _, degree := range []int{1, 2} {
		t.Run(fmt.Sprintf("degree %d", degree), func(t *testing.T) {
			nodes, links := startBent(t, 3, "n1", "n2", "n3")
			ctx := within(t)
			var mu sync.Mutex
			spoiled := 0
			for _, l := range links {
				l.set(func(s *bentStream, kind byte, payload []byte) {
					mu.Lock()
					defer mu.Unlock()
					if kind == frameData && s.data == 3 && spoiled == 0 {
						spoiled++
						payload[len(payload)/2] ^= 1
					}
				})
			}
			const size = 1 << 20
			want := make([]int64, size)
			var sources []phalanx.ObjectID
			for i, n := range nodes {
				id := phalanx.ObjectID(fmt.Sprintf("s%d", i))
				values := make([]int64, size)
				for j := range values {
					values[j] = int64(j*(i+7)) ^ int64(i)<<33
					want[j] += values[j]
				}
				if _, err := cluster.PutArray(ctx, n, id, values); err != nil {
					t.Fatal(err)
				}
				sources = append(sources, id)
			}
			if _, err := nodes[0].Reduce(ctx, storenode.Reduce{Target: "sum", Sources: sources, Op: phalanx.Sum, Degree: degree}); err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			if spoiled != 1 {
				t.Errorf("%d pieces were spoiled before the result was there", spoiled)
			}
			mu.Unlock()
			for _, n := range nodes {
				a, err := cluster.GetArray[int64](ctx, n, "sum")
				if err != nil {
					t.Fatal(err)
				}
				for j, v := range a.Values() {
					if v != want[j] {
						t.Fatalf("%s: element %d is %v, want %v", n.ID(), j, v, want[j])
					}
				}
				a.Release()
			}
		})
	}
}
