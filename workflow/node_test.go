package workflow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/poll"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// nodes returns nodes of a cluster in this process, which leave when the test ends.
func nodes(t *testing.T, k int) []*cluster.Node {
	t.Helper()
	var all []*cluster.Node
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(func() {
		defer cancel()
		for i := range all {
			if err := all[len(all)-1-i].Leave(ctx); err != nil {
				t.Error(err)
			}
		}
	})
	for i := range k {
		log := logrus.New()
		log.SetOutput(io.Discard)
		cfg := cluster.Config{Name: fmt.Sprint("n", i), Logger: log, Memory: 256 << 20}
		if i > 0 {
			cfg.Seeds = []string{all[0].ControlAddr()}
		}
		n, err := cluster.Join(ctx, cfg)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, n)
	}
	for _, n := range all {
		poll.Until(t, "a view of all", func() bool { return len(n.View().Members) == k })
	}
	return all
}

// on has a bench's attempts run on a node.
func (b *bench) on(n *cluster.Node) *bench {
	r := *b.runner
	r.store = nodeStore{n}
	return &bench{t: b.t, hook: b.hook, runner: &r}
}

func (b *bench) ok(a *attempt) ended {
	b.t.Helper()
	e := b.run(b.t.Context(), a, nil)
	if e.err != nil {
		b.t.Fatal(e.err)
	}
	return e
}

// Outputs above 64 KB become objects that other nodes read, of every kind of codec: no size is refused.
func TestLargeOutputs(t *testing.T) {
	all := nodes(t, 2)
	text := Func1("text", 1, func(_ Context, n int) (string, error) { return strings.Repeat("x", n), nil })
	raw := Func1("raw", 1, func(_ Context, n int) ([]byte, error) { return bytes.Repeat([]byte{7}, n), nil })
	floats := Func1("floats", 1, func(_ Context, n int) ([]float32, error) { return make([]float32, n), nil }).With(Deterministic)
	size := Func3("size", 1, func(_ Context, s string, b []byte, f []float32) (int, error) {
		b[0] = 0 // a task may change its arguments: they are its own
		return len(s) + len(b) + len(f), nil
	})
	b := benchOf(t, text, raw, floats, size)
	var made []Ref
	for _, n := range []int{1, maxInline - 2, maxInline - 1, maxInline, maxInline + 1, 3 << 20} {
		var in []given
		for i, s := range []AnyStep{text.Bind(Value(n)), raw.Bind(Value(n)), floats.Bind(Value(n / 4))} {
			a := b.of(s)
			a.path = fmt.Sprint(n, "-", i)
			e := b.on(all[0]).ok(a)
			if large := e.output.Size > maxInline; large == e.output.Recorded || large == e.object.IsZero() || large && e.output.Bytes != nil {
				t.Errorf("%d bytes: %+v", e.output.Size, e)
			}
			if !e.object.IsZero() && (e.object.Size() != e.output.Size || e.object.Digest() != e.output.Digest || len(e.made) != 1) {
				t.Errorf("%+v", e)
			}
			in = append(in, given{bytes: e.output.Bytes, object: e.object})
			made = append(made, e.object)
		}
		for range 2 {
			a := b.of(size.Bind(text.Bind(Value(1)), raw.Bind(Value(1)), floats.Bind(Value(1))), in...)
			if e := b.on(all[1]).ok(a); string(e.output.Bytes) != fmt.Sprint(n+n+n/4) {
				t.Errorf("%s of %d", e.output.Bytes, n)
			}
		}
	}
	for i, want := range []struct {
		id    string
		dtype phalanx.DType
	}{{"wf/r/3145728-0/2/2.3/.output", phalanx.Bytes}, {"wf/r/3145728-1/2/2.3/.output", phalanx.Bytes},
		{"wf/r/3145728-2/2/2/.output", phalanx.Float32}} { // it is deterministic: no attempt is in its id
		o := made[len(made)-3+i]
		stat, err := all[1].Stat(t.Context(), o.ID())
		if err != nil || string(o.ID()) != want.id || stat.Meta.DType != want.dtype {
			t.Errorf("%s: %+v, %v", o.ID(), stat, err)
		}
	}
}

type parcel struct {
	Label string
	Of    *Ref
	Many  map[string][]Ref
}

// Refs travel in structs: the run hears of each, and the next task may read it.
func TestRefsInStructs(t *testing.T) {
	all := nodes(t, 2)
	pack := Func0("pack", 1, func(c Context) (parcel, error) {
		one, err1 := c.Put("one", []byte("1"))
		two, err2 := PutArray(c, "two", []float64{2, 3})
		_, err3 := c.Put("unused", []byte("x"))
		again, err4 := c.Put("one", []byte("1"))
		if again != one {
			t.Error("the same bytes under one name are another object")
		}
		_, err5 := c.Put("one", []byte("other"))
		if !errors.Is(err5, phalanx.ErrExists) {
			t.Error(err5)
		}
		return parcel{"l", &one, map[string][]Ref{"k": {two, {}}}}, errors.Join(err1, err2, err3, err4)
	})
	open := Func1("open", 1, func(c Context, p parcel) (string, error) {
		one, err := GetBytes(c, *p.Of)
		if err != nil {
			return "", err
		}
		two, err := GetArray[float64](c, p.Many["k"][0])
		if err != nil {
			return "", err
		}
		if _, err := GetArray[int8](c, p.Many["k"][0]); !errors.Is(err, phalanx.ErrMismatch) {
			t.Error(err)
		}
		if _, err := c.Get(Ref{}); !errors.Is(err, ErrStrangeRef) {
			t.Error(err)
		}
		return fmt.Sprint(string(one), two.Values()), nil // nobody releases two: the end does
	})
	b := benchOf(t, pack, open)
	e := b.on(all[0]).ok(b.of(pack.Bind()))
	var ids []string
	for _, r := range e.refs {
		ids = append(ids, string(r.ID()))
	}
	slices.Sort(ids)
	if fmt.Sprint(ids) != "[wf/r/7/2/2.3/one wf/r/7/2/2.3/two]" || len(e.made) != 4 || e.output.Refs != 2 || e.output.Weight != 17 { // the output is an object, which lists them
		t.Errorf("%v, made %v", ids, e.made)
	}
	if e := b.on(all[1]).ok(b.of(open.Bind(pack.Bind()), given{object: e.object, bundle: true, from: &core.Located{Output: e.output}})); string(e.output.Bytes) != `"1[2 3]"` {
		t.Errorf("%s", e.output.Bytes)
	}
}

// A Ref that a task was not given is no Ref of the run: nobody would keep its object.
func TestStrangeRefs(t *testing.T) {
	n := nodes(t, 1)[0]
	info, err := n.Put(t.Context(), "strange", []byte("abc"))
	if err != nil {
		t.Fatal(err)
	}
	leak := Func0("leak", 1, func(c Context) ([]Ref, error) {
		if _, err := c.Get(RefOf(info)); !errors.Is(err, ErrStrangeRef) {
			t.Errorf("it reads it: %v", err)
		}
		return []Ref{RefOf(info)}, nil
	})
	pass := Func1("pass", 1, func(c Context, r Ref) (Ref, error) {
		b, err := GetBytes(c, r)
		if err == nil && string(b) != "abc" {
			t.Errorf("%q", b)
		}
		return r, err
	})
	expand := Expand0("expand", 1, func(Context) (Step[Ref], error) { return pass.Bind(Value(RefOf(info))), nil })
	b := benchOf(t, leak, pass, expand).on(n)
	for what, s := range map[string]AnyStep{"leak@1": leak.Bind(), "expand@1": expand.Bind()} {
		e := b.run(t.Context(), b.of(s), nil)
		is(t, e.err, ErrStrangeRef, phalanx.ErrInvalid)
		contains(t, e.err, what, `"strange"`)
		if !e.final {
			t.Error("it is repeated")
		}
	}
	if e := b.ok(b.of(pass.Bind(Value(RefOf(info))))); len(e.refs) != 1 || e.refs[0] != RefOf(info) {
		t.Errorf("%+v", e)
	}
	// The same id with other bytes is not what the Ref says.
	lie := RefOf(info)
	lie.digest[0]++
	a := b.of(pass.Bind(Value(lie)))
	e := b.run(t.Context(), a, nil)
	is(t, e.err, phalanx.ErrMismatch)
}

// What a deterministic task makes again continues under its id; other bytes are an error that names it.
func TestDeterministicTaskThatIsNot(t *testing.T) {
	n := nodes(t, 1)[0]
	calls := 0
	f := Func1("f", 1, func(c Context, large bool) ([]byte, error) {
		calls++
		if large {
			return bytes.Repeat([]byte{byte(calls)}, maxInline+1), nil
		}
		return nil, nil
	}).With(Deterministic, NoEffect)
	named := Func1("f", 2, func(c Context, _ bool) (Ref, error) {
		calls++
		return c.Put("x", []byte{byte(calls)})
	}).With(Deterministic, NoEffect)
	b := benchOf(t, f, named).on(n)
	for i, large := range []bool{false, true} {
		calls = 0
		a := b.of(f.Bind(Value(large)))
		if !large {
			a = b.of(named.Bind(Value(large)))
		}
		a.path = fmt.Sprint(i)
		b.ok(a)
		calls = 0
		a.made.Number++
		b.ok(a)
		e := b.run(t.Context(), a, nil)
		is(t, e.err, ErrNotDeterministic, phalanx.ErrMismatch)
		contains(t, e.err, a.call.String())
		if !e.final {
			t.Error("it is repeated")
		}
		if large {
			continue
		}
		a.gen++ // it was dropped: its old objects do not count
		b.ok(a)
	}
}

// Inputs that no node has are named, so that they can be made again.
func TestMissingInputs(t *testing.T) {
	n := nodes(t, 1)[0]
	info, err := n.Put(t.Context(), "in", bytes.Repeat([]byte{1}, 100_000))
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Delete(t.Context(), "in"); err != nil {
		t.Fatal(err)
	}
	raw := Func0("raw", 1, func(Context) ([]byte, error) { return nil, nil })
	f := Func1("f", 1, func(c Context, _ []byte) (int, error) { t.Error("it has begun"); return 0, nil })
	g := Func1("g", 1, func(c Context, r Ref) (int, error) { _, err := c.Get(r); return 0, err })
	b := benchOf(t, f, g).on(n)
	for _, a := range []*attempt{b.of(f.Bind(raw.Bind()), given{object: RefOf(info)}), b.of(g.Bind(Value(RefOf(info))))} {
		e := b.run(t.Context(), a, nil)
		if e.err == nil || e.final || len(e.missing) != 1 || e.missing[0] != "in" {
			t.Errorf("%+v", e)
		}
	}
}

func TestNamesOfObjects(t *testing.T) {
	f := Do0("f", 1, func(c Context) error {
		for _, name := range []string{"", ".output", "a\nb", "\xff", strings.Repeat("x", maxPutName+1)} {
			if _, err := c.Put(name, nil); !errors.Is(err, phalanx.ErrInvalid) {
				t.Errorf("%q: %v", name, err)
			}
		}
		for i := range maxPuts {
			if _, err := c.Put(fmt.Sprint(i), nil); err != nil {
				return err
			}
		}
		if _, err := c.Put("0", nil); err != nil {
			t.Error(err)
		}
		_, err := c.Put("one more", nil)
		return err
	})
	b := benchOf(t, f)
	e := b.run(t.Context(), b.of(f.Bind()), nil)
	is(t, e.err, phalanx.ErrInvalid)
	contains(t, e.err, "10000 objects already")
	if len(e.made) != maxPuts {
		t.Errorf("%d objects", len(e.made))
	}
}
