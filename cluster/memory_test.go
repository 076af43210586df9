package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

const roomOf = 4 << 20 // a node with little memory

// tight has all nodes but the first have little memory.
func tight(c *cluster.Config) {
	if c.Name != "n1" {
		c.Memory = roomOf
	}
}

// has fetches an object at n and checks it.
func has(t *testing.T, n *cluster.Node, id phalanx.ObjectID, data []byte) {
	t.Helper()
	ctx := within(t)
	var v *storenode.View
	if err := insist(ctx, func() (err error) { v, err = n.Get(ctx, id); return err }); err != nil {
		t.Fatal(err)
	}
	defer v.Release()
	if !bytes.Equal(v.Bytes(), data) {
		t.Errorf("%s got other bytes of %s", n.ID(), id)
	}
}

func put(t *testing.T, n *cluster.Node, id phalanx.ObjectID, data []byte) {
	t.Helper()
	ctx := within(t)
	if err := insist(ctx, func() error { _, err := n.Put(ctx, id, data); return err }); err != nil {
		t.Fatal(err)
	}
}

// holders returns who has a complete copy.
func holders(t *testing.T, n *cluster.Node, id phalanx.ObjectID) []phalanx.NodeID {
	t.Helper()
	ctx := within(t)
	var st storenode.ObjectStat
	if err := insist(ctx, func() (err error) { st, err = n.Stat(ctx, id); return err }); err != nil {
		t.Fatal(err)
	}
	var out []phalanx.NodeID
	for _, h := range st.Holders {
		if h.Complete {
			out = append(out, h.Node)
		}
	}
	slices.Sort(out)
	return out
}

// empty deletes objects and looks whether anything is left reserved.
func empty(t *testing.T, nodes []*cluster.Node, ids ...phalanx.ObjectID) {
	t.Helper()
	for _, id := range ids {
		ctx := within(t)
		if err := insist(ctx, func() error { return nodes[0].Delete(ctx, id) }); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range nodes {
		quiet(t, n, 0)
	}
}

func TestTheCopyThatWasUsedLongestAgoIsEvicted(t *testing.T) {
	nodes := start(t, 2, tight)
	from, to := nodes[0], nodes[1]
	ids := []phalanx.ObjectID{"a", "b", "c", "d"}
	data := map[phalanx.ObjectID][]byte{}
	for i, id := range ids {
		data[id] = random(roomOf/10*3, uint64(i))
		put(t, from, id, data[id])
	}
	// Without that an eviction can be refused, and the next one is asked for.
	eventually(t, "settled", func() bool { return to.Settled(within(t), ids...) })
	for _, id := range []phalanx.ObjectID{"a", "b", "c", "a", "d"} {
		has(t, to, id, data[id])
	}
	at := func(want ...phalanx.ObjectID) {
		t.Helper()
		eventually(t, fmt.Sprint("left with ", want), func() bool { // that a copy is complete is reported later
			var is []phalanx.ObjectID
			for _, id := range ids {
				if slices.Contains(holders(t, from, id), to.ID()) {
					is = append(is, id)
				}
			}
			return slices.Equal(is, want)
		})
	}
	at("a", "c", "d")
	has(t, to, "b", data["b"])
	at("a", "b", "d")
	if n := to.Status().Evictions; n != 2 {
		t.Errorf("%d evictions are told of, not 2", n)
	}
	empty(t, nodes, ids...)
}

// briefly makes a call that is to end with its deadline, which is short; longer if
// the machine was too busy for the node to say more than that it has passed.
func briefly(want phalanx.Kind, call func(context.Context) error) (err error) {
	for d := 200 * time.Millisecond; d < 10*time.Second; d *= 2 {
		ctx, cancel := context.WithTimeout(context.Background(), d)
		err = call(ctx)
		cancel()
		if errors.Is(err, want) {
			break
		}
	}
	return err
}

// Of the last two copies one node may drop its own, and the other not, until it
// is not the last any more.
func TestTheOnlyCopyIsNotEvicted(t *testing.T) {
	nodes := start(t, 3, tight)
	data := random(roomOf/4*3, 1)
	put(t, nodes[0], "x", data)
	has(t, nodes[1], "x", data)
	has(t, nodes[2], "x", data)
	eventually(t, "known", func() bool { return len(holders(t, nodes[0], "x")) == 3 })
	nodes[0].Die() // who leaves has one of the others pin its copy
	n2, n3 := nodes[1], nodes[2]
	eventually(t, "removed", func() bool { return len(holders(t, n2, "x")) == 2 && n2.Settled(within(t)) })
	put(t, n2, "y", random(len(data), 2))
	// That n2 has room shows that its copy is gone; n3's is the last.
	if is := holders(t, n2, "x"); !slices.Equal(is, []phalanx.NodeID{n3.ID()}) {
		t.Fatalf("x is at %v", is)
	}

	z := random(len(data), 3)
	err := briefly(phalanx.ErrNoSpace, func(ctx context.Context) error { _, err := n3.Put(ctx, "z", z); return err })
	refused(t, "no room", err, phalanx.ErrNoSpace, `put "z"`, string(n3.ID()), fmt.Sprint(len(data), " bytes are needed"), fmt.Sprint("of ", roomOf, " are free"))
	has(t, n3, "x", data)

	ended := make(chan error, 1)
	go func() {
		_, err := n3.Put(within(t), "z", z)
		ended <- err
	}()
	eventually(t, "waiting", n3.WaitsForRoom)
	if err := n2.Delete(within(t), "y"); err != nil {
		t.Fatal(err)
	}
	has(t, n2, "x", data) // so that n3 may drop its copy
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	empty(t, nodes[1:], "x", "z")
}

func TestCallsWaitForRoom(t *testing.T) {
	nodes := start(t, 2, tight)
	n := nodes[1]
	data := random(roomOf/4*3, 1)
	put(t, n, "a", data)
	put(t, nodes[0], "far", data)
	numbers := []string{`get "far"`, string(n.ID()), fmt.Sprint(len(data), " bytes are needed"), fmt.Sprint("of ", roomOf, " are free"), "are pinned", "are reserved", "evictions cannot free enough memory", "delete objects", "--memory"}
	_, err := n.Get(within(t), "far")
	refused(t, "Get", err, phalanx.ErrNoSpace, numbers...) // and not for its deadline
	// Nobody knows whether what is still to come of a stream would ever fit.
	_, err = n.PutReader(within(t), "b", bytes.NewReader(data), phalanx.UnknownSize)
	refused(t, "a stream", err, phalanx.ErrNoSpace, string(n.ID()), "bytes are needed", "the request cannot wait: delete objects", "--memory", `put "b"`)

	waits := func(small phalanx.ObjectID, call func() error, makeRoom func()) {
		t.Helper()
		ended := make(chan error, 1)
		go func() { ended <- call() }()
		eventually(t, "waiting", n.WaitsForRoom)
		select {
		case err := <-ended:
			t.Fatalf("it did not wait: %v", err)
		default:
		}
		if m := n.Status().Memory; m.Waiting != 1 || m.WaitingBytes != int64(len(data)) {
			t.Errorf("%d wait for %d bytes", m.Waiting, m.WaitingBytes)
		}
		put(t, n, small, random(200_000, 3)) // passes it
		if err := n.Delete(within(t), small); err != nil {
			t.Fatal(err)
		}
		makeRoom()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
	if err := n.Delete(within(t), "a"); err != nil {
		t.Fatal(err)
	}
	far, err := n.Get(within(t), "far")
	if err != nil {
		t.Fatal(err)
	}
	var other *storenode.View
	put(t, nodes[0], "other", data)
	err = briefly(phalanx.ErrNoSpace, func(ctx context.Context) error { _, err := n.Get(ctx, "other"); return err })
	refused(t, "a Get that is late", err, phalanx.ErrNoSpace, `get "other"`, string(n.ID()), fmt.Sprint(len(data), " bytes are needed"), "deadline")
	eventually(t, "it waits for room no more", func() bool { return !n.WaitsForRoom() }) // its wait ends a moment later
	waits("small/1", func() (err error) { other, err = n.Get(within(t), "other"); return err }, far.Release)
	waits("small/2", func() error { _, err := n.Put(within(t), "b", data); return err }, other.Release)
	empty(t, nodes, "far", "other", "b")
}

// A Put for which no eviction can make room is refused at once, and another one after as
// long as it is told to wait. Either says what is in its way and what to do.
func TestPutsDoNotWaitForLong(t *testing.T) {
	nodes := start(t, 2, tight)
	n := nodes[1]
	data := random(roomOf/4*3, 1)
	put(t, n, "a", data)
	if m := n.Status().Memory; m.Pinned < int64(len(data)) || m.Pinned > int64(len(data))+10_000 || m.Reserved >= int64(len(data)) {
		t.Errorf("%d bytes are pinned, %d reserved", m.Pinned, m.Reserved)
	}
	numbers := []string{`put "b"`, string(n.ID()), fmt.Sprint(len(data), " bytes are needed"), fmt.Sprint("of ", roomOf, " are free"), "are pinned", "are reserved"}
	puts := map[string]func(opts ...cluster.PutOption) error{
		"Put": func(opts ...cluster.PutOption) error { _, err := n.Put(within(t), "b", data, opts...); return err },
		"PutReader": func(opts ...cluster.PutOption) error {
			_, err := n.PutReader(within(t), "b", bytes.NewReader(data), int64(len(data)), opts...)
			return err
		},
	}
	for name, call := range puts {
		began := time.Now()
		refused(t, name, call(cluster.WaitForMemory(time.Hour)), phalanx.ErrNoSpace, append(numbers, "evictions cannot free enough memory", "delete objects", "--memory")...)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
	if err := n.Delete(within(t), "a"); err != nil {
		t.Fatal(err)
	}
	put(t, nodes[0], "far", data)
	v, err := n.Get(within(t), "far")
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range puts { // what is being read is given back some time
		began := time.Now()
		refused(t, name, call(cluster.WaitForMemory(300*time.Millisecond)), phalanx.ErrNoSpace, append(numbers, "within 300ms", "delete objects", "--memory-wait")...)
		if took := time.Since(began); took < 300*time.Millisecond || took > 10*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
	v.Release()
	// The view's copy could be evicted, but not without waiting for its owner.
	refused(t, "without waiting", puts["Put"](cluster.WaitForMemory(0)), phalanx.ErrNoSpace, append(numbers, "the request cannot wait")...)
	if v, err := n.TryGet(within(t), "far"); err != nil || n.Status().Evictions != 0 {
		t.Errorf("%v, %d evictions", err, n.Status().Evictions)
	} else {
		v.Release()
	}
	if _, err := n.Put(within(t), "little", random(roomOf/8, 2), cluster.WaitForMemory(0)); err != nil {
		t.Error(err)
	}
	if err := puts["Put"](); err != nil {
		t.Error(err)
	}
	empty(t, nodes, "far", "b", "little")
}

// Each of two nodes is full with what the other wants, and both want it at once.
func TestTwoNodesThatWaitForEachOthersRoom(t *testing.T) {
	nodes := start(t, 3, tight)
	x, y := random(roomOf/4*3, 1), random(roomOf/4*3, 2)
	put(t, nodes[0], "x", x)
	put(t, nodes[0], "y", y)
	for range 5 {
		has(t, nodes[1], "x", x)
		has(t, nodes[2], "y", y)
		ended := make(chan error, 2)
		for n, id := range map[*cluster.Node]phalanx.ObjectID{nodes[1]: "y", nodes[2]: "x"} {
			go func() {
				v, err := n.Get(within(t), id)
				if err == nil {
					v.Release()
				}
				ended <- err
			}()
		}
		for range 2 {
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
		}
	}
	empty(t, nodes, "x", "y")
}
