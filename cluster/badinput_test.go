package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/poll"
	"github.com/phalanx-go/phalanx/storenode"
)

// refused checks that err is a *phalanx.Error of a kind which says all of parts.
func refused(t *testing.T, what string, err error, kind phalanx.Kind, parts ...string) {
	t.Helper()
	var e *phalanx.Error
	if !errors.As(err, &e) || !errors.Is(err, kind) {
		t.Errorf("%s: %v, want %v", what, err, kind)
		return
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("%s: %q does not say %q", what, err, p)
		}
	}
}

// eventually waits until what is done in the background has been done.
var eventually = poll.Until

// quiet waits until nothing is under way on a node, and no memory is in use
// beyond what is expected.
func quiet(t testing.TB, n *cluster.Node, used int64) {
	t.Helper()
	var s cluster.Status
	defer func() {
		if t.Failed() {
			t.Logf("%s: %+v", n.ID(), s)
		}
	}()
	eventually(t, "quiet", func() bool {
		s = n.Status()
		return s.Fetching == 0 && s.Reduces == 0 && s.Places == 0 && s.Memory.Used-s.Memory.Idle-s.Memory.Directory == used
	})
}

var badIDs = []struct {
	name string
	id   phalanx.ObjectID
	says string
}{
	{"empty", "", "the object id is empty"},
	{"257 bytes", phalanx.ObjectID(strings.Repeat("x", 257)), `"xxxxxxxxxxxxxxxx…": invalid: the object id has 257 bytes`},
	{"a line break", "a\nb", "unprintable character U+000A at byte 1"},
	{"a control character", "a\x00", "unprintable character U+0000 at byte 1"},
	{"not UTF-8", "a\xff", `"a?": invalid: the object id is not valid UTF-8`},
}

func TestBadIDs(t *testing.T) {
	nodes := start(t, 2)
	n := nodes[1]
	ctx := within(t)
	calls := map[string]func(phalanx.ObjectID) error{
		"put":      func(id phalanx.ObjectID) error { _, err := n.Put(ctx, id, []byte("x")); return err },
		"put ":     func(id phalanx.ObjectID) error { _, err := n.PutReader(ctx, id, strings.NewReader("x"), 1); return err },
		"get":      func(id phalanx.ObjectID) error { _, err := n.Get(ctx, id); return err },
		"get ":     func(id phalanx.ObjectID) error { _, err := n.TryGet(ctx, id); return err },
		"open":     func(id phalanx.ObjectID) error { _, err := n.Open(ctx, id); return err },
		"open ":    func(id phalanx.ObjectID) error { _, err := n.TryOpen(ctx, id); return err },
		"delete":   func(id phalanx.ObjectID) error { return n.Delete(ctx, id) },
		"stat":     func(id phalanx.ObjectID) error { _, err := n.Stat(ctx, id); return err },
		"prefetch": func(id phalanx.ObjectID) error { return n.Prefetch(ctx, id) },
		"watch":    func(id phalanx.ObjectID) error { return n.Watch(ctx, id, func(cluster.Locations) bool { return true }) },
		"reduce": func(id phalanx.ObjectID) error {
			_, err := n.Reduce(ctx, storenode.Reduce{Target: id, Sources: []phalanx.ObjectID{"s"}, Op: phalanx.Sum})
			return err
		},
		"reduce ": func(id phalanx.ObjectID) error {
			_, err := n.Reduce(ctx, storenode.Reduce{Target: "t", Sources: []phalanx.ObjectID{id}, Op: phalanx.Sum})
			return err
		},
	}
	do, _ := spawnAsker(t, n)
	messages := map[string]func(phalanx.ObjectID) error{
		"put": func(id phalanx.ObjectID) error {
			return do(&storenode.Put{Object: id, Bytes: []byte("x")}).(*storenode.PutDone).Err
		},
		"get":    func(id phalanx.ObjectID) error { return do(&storenode.Get{Object: id}).(*storenode.Got).Err },
		"open":   func(id phalanx.ObjectID) error { return do(&storenode.Open{Object: id}).(*storenode.Opened).Err },
		"delete": func(id phalanx.ObjectID) error { return do(&storenode.Delete{Object: id}).(*storenode.Deleted).Err },
		"stat":   func(id phalanx.ObjectID) error { return do(&storenode.Stat{Object: id}).(*storenode.Stated).Err },
		"prefetch": func(id phalanx.ObjectID) error {
			return do(&storenode.Prefetch{Object: id}).(*storenode.Prefetched).Err
		},
		"reduce": func(id phalanx.ObjectID) error {
			return do(&storenode.Reduce{Target: id, Sources: []phalanx.ObjectID{"s"}, Op: phalanx.Sum}).(*storenode.Reduced).Err
		},
	}
	for _, bad := range badIDs {
		for op, call := range calls {
			op = strings.TrimSpace(op)
			refused(t, op+" of "+bad.name, call(bad.id), phalanx.ErrInvalid, op, bad.says)
		}
		for op, call := range messages {
			refused(t, "message "+op+" of "+bad.name, call(bad.id), phalanx.ErrInvalid, op, bad.says)
		}
	}
	for _, bad := range badIDs[2:] {
		_, err := n.List(ctx, string(bad.id))
		refused(t, "list of "+bad.name, err, phalanx.ErrInvalid, "list")
	}
	nothing(t, nodes)
}

// nothing checks that no object and no byte is in the cluster.
func nothing(t *testing.T, nodes []*cluster.Node) {
	t.Helper()
	eventually(t, "without objects", func() bool { // the target of a late reduce is released behind its answer
		all, err := nodes[0].List(within(t), "")
		return err == nil && len(all) == 0
	})
	for _, n := range nodes {
		quiet(t, n, 0)
	}
}

func TestBadPuts(t *testing.T) {
	nodes := start(t, 2, func(c *cluster.Config) { c.Memory = 4 << 20 })
	n := nodes[1]
	ctx := within(t)
	do, _ := spawnAsker(t, n)
	large := make([]byte, 4<<20+1)
	for _, c := range []struct {
		name string
		put  storenode.Put
		kind phalanx.Kind
		says []string
	}{
		{"over the cap", storenode.Put{Bytes: large}, phalanx.ErrNoSpace, []string{"4194305 bytes", "cap of 4194304", string(n.ID())}},
		{"a reader over the cap", storenode.Put{Reader: bytes.NewReader(large), Meta: phalanx.Meta{Size: 4<<20 + 1}}, phalanx.ErrNoSpace, []string{"4194305 bytes"}},
		{"a reader of unknown size over the cap", storenode.Put{Reader: bytes.NewReader(large), Meta: phalanx.Meta{Size: phalanx.UnknownSize}}, phalanx.ErrNoSpace, []string{"bytes", "4194304"}},
		{"a dtype that is none", storenode.Put{Bytes: large[:4], Meta: phalanx.Meta{DType: 99}}, phalanx.ErrInvalid, []string{"dtype(99)"}},
		{"half an element", storenode.Put{Bytes: large[:6], Meta: phalanx.Meta{DType: phalanx.Float32}}, phalanx.ErrInvalid, []string{"6 bytes", "float32"}},
		{"a shape that does not fit", storenode.Put{Bytes: large[:16], Meta: phalanx.Meta{DType: phalanx.Float32, Shape: []int64{3}}}, phalanx.ErrInvalid, []string{"[3]", "the object has 4"}},
		{"a shape out of range", storenode.Put{Bytes: large[:16], Meta: phalanx.Meta{DType: phalanx.Float32, Shape: []int64{-1, 4}}}, phalanx.ErrInvalid, []string{"[-1 4]"}},
		{"too many dimensions", storenode.Put{Bytes: large[:16], Meta: phalanx.Meta{Shape: make([]int64, 33)}}, phalanx.ErrInvalid, []string{"33 dimensions"}},
		{"a negative size", storenode.Put{Reader: bytes.NewReader(nil), Meta: phalanx.Meta{Size: -2}}, phalanx.ErrInvalid, []string{"-2"}},
		{"a negative number of copies", storenode.Put{Bytes: large[:4], Copies: -1}, phalanx.ErrInvalid, []string{"Copies is -1"}},
		{"a reader that is too short", storenode.Put{Reader: bytes.NewReader(large[:100]), Meta: phalanx.Meta{Size: 101}}, phalanx.ErrAborted, []string{"after 100 of 101 bytes"}},
		{"a long reader that is too short", storenode.Put{Reader: bytes.NewReader(large[:1<<20]), Meta: phalanx.Meta{Size: 2 << 20}}, phalanx.ErrAborted, []string{"after 1048576 of 2097152 bytes"}},
		{"a reader that is too long", storenode.Put{Reader: bytes.NewReader(large[:101]), Meta: phalanx.Meta{Size: 100}}, phalanx.ErrInvalid, []string{"100"}},
		{"a long reader that is too long", storenode.Put{Reader: bytes.NewReader(large), Meta: phalanx.Meta{Size: 2 << 20}}, phalanx.ErrInvalid, []string{"2097152"}},
	} {
		c.put.Object = "a"
		if c.put.Reader != nil {
			_, err := n.PutReader(ctx, "a", c.put.Reader, c.put.Meta.Size)
			refused(t, c.name, err, c.kind, append(c.says, `put "a"`)...)
			if s, ok := c.put.Reader.(*bytes.Reader); ok {
				s.Seek(0, 0)
			}
		}
		refused(t, "message: "+c.name, do(&c.put).(*storenode.PutDone).Err, c.kind, append(c.says, `put "a"`)...)
		eventually(t, "released", func() bool { _, err := n.Stat(ctx, "a"); return errors.Is(err, phalanx.ErrNotFound) })
		quiet(t, n, 0) // or the next one has no room
	}
	_, err := n.PutReader(ctx, "a", nil, 4)
	refused(t, "no reader", err, phalanx.ErrInvalid, `put "a"`, "reader")
	nothing(t, nodes)
}

func TestPutUnderAnIDThatExists(t *testing.T) {
	nodes := start(t, 3)
	ctx := within(t)
	do, _ := spawnAsker(t, nodes[2])
	for _, size := range []int{400, 400_000} {
		id := phalanx.ObjectID(fmt.Sprintf("o%d", size))
		data := random(size, 1)
		first, err := nodes[0].Put(ctx, id, data, cluster.WithArray(phalanx.Int16, int64(size)/2))
		if err != nil {
			t.Fatal(err)
		}
		for what, other := range map[string]phalanx.Meta{
			"another dtype": {Size: int64(size), DType: phalanx.Float16, Shape: []int64{int64(size) / 2}},
			"no dtype":      {Size: int64(size)},
			"another shape": {Size: int64(size), DType: phalanx.Int16, Shape: []int64{2, int64(size) / 4}},
		} {
			err := do(&storenode.Put{Object: id, Bytes: data, Meta: other}).(*storenode.PutDone).Err
			refused(t, what, err, phalanx.ErrExists, fmt.Sprintf("put %q", string(id)))
		}
		for i, n := range nodes {
			shape := cluster.WithArray(phalanx.Int16, int64(size)/2)
			_, err := n.Put(ctx, id, random(size, 2), shape)
			refused(t, "other bytes", err, phalanx.ErrExists, fmt.Sprintf("put %q", string(id)))
			_, err = n.Put(ctx, id, random(size/2, 1), cluster.WithArray(phalanx.Int16, int64(size)/4))
			refused(t, "another size", err, phalanx.ErrExists, fmt.Sprintf("put %q", string(id)))
			_, err = n.PutReader(ctx, id, bytes.NewReader(random(size, 2)), phalanx.UnknownSize, shape)
			refused(t, "other bytes of a size that is not known", err, phalanx.ErrExists, fmt.Sprintf("put %q", string(id)))
			info, err := n.Put(ctx, id, data, shape)
			if err != nil || info.Gen != first.Gen || info.Digest != first.Digest {
				t.Errorf("the same bytes at node %d: %+v %v, want %+v", i, info, err, first)
			}
		}
		if d := do(&storenode.Put{Object: id, Bytes: data, Meta: phalanx.Meta{DType: phalanx.Int16, Shape: []int64{int64(size) / 2}}}).(*storenode.PutDone); d.Err != nil || !d.Existed {
			t.Errorf("the same bytes by a message: %+v", d)
		}
		v, err := nodes[1].Get(ctx, id)
		if err != nil || !bytes.Equal(v.Bytes(), data) {
			t.Fatalf("the object has changed: %v", err)
		}
		v.Release()
		if err := nodes[1].Delete(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range nodes {
		quiet(t, n, 0)
	}
}

func TestBadReduces(t *testing.T) {
	nodes := start(t, 3, func(c *cluster.Config) {
		if c.Name != "n2" {
			c.Ops = map[phalanx.Op]cluster.CombineFunc{"first": func(phalanx.DType, []byte, []byte) error { return nil }}
		}
	})
	ctx := within(t)
	n := nodes[0]
	do, _ := spawnAsker(t, n)
	for _, size := range []int{10, 100_000} {
		for i, node := range nodes {
			must(t)(cluster.PutArray(ctx, node, phalanx.ObjectID(fmt.Sprintf("f%d/%d", i, size)), make([]float32, size)))
		}
		must(t)(cluster.PutArray(ctx, nodes[1], phalanx.ObjectID(fmt.Sprintf("i/%d", size)), make([]int32, size)))
		must(t)(cluster.PutArray(ctx, nodes[1], phalanx.ObjectID(fmt.Sprintf("short/%d", size)), make([]float32, size-1)))
		must(t)(nodes[1].Put(ctx, phalanx.ObjectID(fmt.Sprintf("bytes/%d", size)), make([]byte, 4*size)))
	}
	used := make([]int64, len(nodes))
	for i, n := range nodes {
		eventually(t, "quiet", func() bool { return n.Status().Fetching == 0 })
		m := n.Status().Memory
		used[i] = m.Used - m.Idle - m.Directory
	}
	for _, size := range []string{"/10", "/100000"} {
		for i, c := range []struct {
			name    string
			sources string
			op      phalanx.Op
			num     int
			kind    phalanx.Kind
			says    []string
		}{
			{"other sizes", "f0 short", phalanx.Sum, 0, phalanx.ErrMismatch, []string{"short" + size}},
			{"other dtypes", "f0 i", phalanx.Sum, 0, phalanx.ErrMismatch, []string{"i" + size, "int32", "float32"}},
			{"more than there are", "f0 f1", phalanx.Sum, 3, phalanx.ErrInvalid, []string{"3 of 2"}},
			{"a negative number", "f0 f1", phalanx.Sum, -1, phalanx.ErrInvalid, []string{"-1"}},
			{"a source twice", "f0 f1 f0", phalanx.Sum, 0, phalanx.ErrInvalid, []string{"f0" + size, "twice"}},
			{"no source", "", phalanx.Sum, 0, phalanx.ErrInvalid, []string{"no source"}},
			{"the target among them", "f0 target", phalanx.Sum, 0, phalanx.ErrInvalid, []string{"target" + size, "among its sources"}},
			{"no op", "f0 f1", "", 0, phalanx.ErrInvalid, []string{"op"}},
			{"an unknown op", "f0 f1", "median", 0, phalanx.ErrUnknownOp, []string{`median`, "sum, prod, min and max", `"first"`}},
			{"an unknown op on what is never put", "never", "median", 0, phalanx.ErrUnknownOp, []string{`median`, "sum, prod, min and max", `"first"`}},
			{"an op of integers on floats", "f0 f1", phalanx.Xor, 0, phalanx.ErrInvalid, []string{"xor", "float32"}},
			{"an op on bytes", "bytes", phalanx.Sum, 0, phalanx.ErrInvalid, []string{"sum", "bytes"}},
			{"an op that a node does not have", "f0 f1 f2", "first", 0, phalanx.ErrUnknownOp, []string{`first`, string(nodes[1].ID())}},
		} {
			if c.name == "an op that a node does not have" && size == "/10" {
				continue // small ones are combined where the reduce was asked for
			}
			r := storenode.Reduce{Target: phalanx.ObjectID("target" + size), Op: c.op, Num: c.num}
			for _, s := range strings.Fields(c.sources) {
				r.Sources = append(r.Sources, phalanx.ObjectID(s+size))
			}
			_, err := n.Reduce(ctx, r)
			refused(t, c.name+size, err, c.kind, append(c.says, "reduce")...)
			r.Target += phalanx.ObjectID(fmt.Sprint(i))
			if c.name == "the target among them" {
				r.Sources[1] = r.Target
			}
			refused(t, "message: "+c.name+size, do(&r).(*storenode.Reduced).Err, c.kind, append(c.says, "reduce")...)
		}
	}
	_, err := n.Reduce(ctx, storenode.Reduce{Target: "t", Sources: []phalanx.ObjectID{"f0/10"}, Op: phalanx.Sum, Degree: -1})
	refused(t, "a negative degree", err, phalanx.ErrInvalid, "degree", "-1")
	_, err = n.Reduce(ctx, storenode.Reduce{Target: "f0/10", Sources: []phalanx.ObjectID{"f1/10"}, Op: phalanx.Sum})
	refused(t, "a target that exists", err, phalanx.ErrExists, "f0/10")
	for i, n := range nodes {
		quiet(t, n, used[i])
	}
	eventually(t, "released", func() bool {
		all, err := n.List(ctx, "target")
		return err == nil && len(all) == 0
	})
}

func must(t *testing.T) func(storenode.Info, error) {
	return func(_ storenode.Info, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestGetOfWhatIsNeverPut(t *testing.T) {
	t.Parallel() // it mostly waits
	nodes := start(t, 2)
	n := nodes[1]
	do, _ := spawnAsker(t, n)
	soon := func() context.Context {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		t.Cleanup(cancel)
		return ctx
	}
	_, err := n.Get(soon(), "never")
	refused(t, "get", err, phalanx.ErrDeadline, `get "never": deadline: nobody has announced it`)
	_, err = n.Open(soon(), "never")
	refused(t, "open", err, phalanx.ErrDeadline, `open "never": deadline: nobody has announced it`)
	err = n.Prefetch(soon(), "never", n.ID())
	refused(t, "prefetch", err, phalanx.ErrDeadline, `prefetch "never"`, "nobody has announced it", string(n.ID()))
	err = n.Prefetch(soon(), "never", nodes[0].ID())
	refused(t, "prefetch", err, phalanx.ErrDeadline, `prefetch "never"`, "nobody has announced it", string(nodes[0].ID()))
	_, err = n.Reduce(soon(), storenode.Reduce{Target: "sum", Sources: []phalanx.ObjectID{"never"}, Op: phalanx.Sum})
	refused(t, "reduce", err, phalanx.ErrDeadline, `reduce "never"`, "no live node has this one", `"sum"`)
	d := time.Second
	refused(t, "message get", do(&storenode.Get{Object: "never", Deadline: d}).(*storenode.Got).Err, phalanx.ErrDeadline, `get "never"`, "nobody has announced it")
	refused(t, "message open", do(&storenode.Open{Object: "never", Deadline: d}).(*storenode.Opened).Err, phalanx.ErrDeadline, `open "never"`, "nobody has announced it")
	refused(t, "message prefetch", do(&storenode.Prefetch{Object: "never", Deadline: d}).(*storenode.Prefetched).Err, phalanx.ErrDeadline, `prefetch "never"`, "nobody has announced it")
	refused(t, "message reduce", do(&storenode.Reduce{Target: "sum2", Sources: []phalanx.ObjectID{"never"}, Op: phalanx.Sum, Deadline: d}).(*storenode.Reduced).Err,
		phalanx.ErrDeadline, `reduce "never"`, "no live node has this one")
	_, err = n.TryGet(within(t), "never")
	refused(t, "try get", err, phalanx.ErrNotFound, `get "never": not found: nobody has announced it`)
	_, err = n.TryOpen(within(t), "never")
	refused(t, "try open", err, phalanx.ErrNotFound, `open "never": not found: nobody has announced it`)
	_, err = n.Stat(within(t), "never")
	refused(t, "stat", err, phalanx.ErrNotFound, `stat "never": not found: nobody has announced it`)
	err = n.Prefetch(within(t), "never", "nobody#1")
	refused(t, "prefetch on a stranger", err, phalanx.ErrInvalid, "nobody#1", "not a member")
	refused(t, "message prefetch on a stranger", do(&storenode.Prefetch{Object: "never", Nodes: []phalanx.NodeID{"nobody#1"}}).(*storenode.Prefetched).Err,
		phalanx.ErrInvalid, "nobody#1", "not a member")
	nothing(t, nodes)
}
