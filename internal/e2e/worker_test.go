package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/content"
	"github.com/phalanx-go/phalanx/storenode"
)

// order is what an agent is asked to do with its node's store.
type order struct {
	Do      string // put, stream (a put of unknown size), get, open, reduce, delete
	Object  phalanx.ObjectID
	Size    int64
	DType   phalanx.DType
	Sources []phalanx.ObjectID // of a reduce; for a get and open: what the object must be made of
	Op      phalanx.Op
	Num     int
	Degree  int
}

type answer struct {
	Err     string
	In, Out []phalanx.ObjectID
}

// worker is the application actor under test: it talks to the store by
// messages and checks every byte that it gets.
type worker struct {
	node    *cluster.Node
	pending map[string][]asked // by what was sent to the store
}

type asked struct {
	order
	by *actor.PID
}

func newWorker(n *cluster.Node) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor { return &worker{node: n, pending: map[string][]asked{}} })
}

// Receive carries out an order, or reports what the store has answered.
func (w *worker) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *wrapperspb.BytesValue:
		var o order
		if err := json.Unmarshal(m.GetValue(), &o); err != nil {
			panic(err)
		}
		w.begin(c, o)
	case *storenode.PutDone:
		w.over(c, "put", m.Object, func(order) answer { return failed(m.Err) })
	case *storenode.Got:
		w.over(c, "get", m.Object, func(o order) answer {
			if m.Err != nil {
				return failed(m.Err)
			}
			defer m.View.Release()
			return failed(o.check(m.View.Bytes(), m.View.Meta()))
		})
	case *storenode.Opened:
		w.over(c, "open", m.Object, func(o order) answer {
			if m.Err != nil {
				return failed(m.Err)
			}
			defer func() { _ = m.Reader.Close() }()
			b, err := io.ReadAll(m.Reader)
			if err == nil {
				err = o.check(b, m.Reader.Meta())
			}
			return failed(err)
		})
	case *storenode.Reduced:
		w.over(c, "reduce", m.Target, func(order) answer {
			a := failed(m.Err)
			a.In, a.Out = m.Result.In, m.Result.Out
			return a
		})
	case *storenode.AllReduced:
		w.over(c, "allreduce", m.Target, func(o order) answer {
			a := failed(m.Err)
			if m.Err == nil {
				o.Sources = m.Result.In
				a = failed(o.check(m.View.Bytes(), m.View.Meta()))
				m.View.Release()
			}
			a.In, a.Out = m.Result.In, m.Result.Out
			return a
		})
	case *storenode.Gathered:
		w.over(c, "gather", "", func(o order) answer {
			a := failed(m.Err)
			for i, v := range m.Views {
				if v == nil {
					continue
				}
				one := order{Object: o.Sources[i], Size: o.Size, DType: o.DType}
				if err := one.check(v.Bytes(), v.Meta()); err != nil && a.Err == "" {
					a = failed(err)
				}
				v.Release()
			}
			a.In, a.Out = m.In, m.Out
			return a
		})
	case *storenode.Deleted:
		w.over(c, "delete", m.Object, func(order) answer { return failed(m.Err) })
	}
}

func failed(err error) answer {
	if err == nil {
		return answer{}
	}
	return answer{Err: err.Error()}
}

func (w *worker) begin(c actor.Context, o order) {
	key := o.Do
	meta := phalanx.Meta{Size: o.Size, DType: o.DType}
	var m any
	switch o.Do {
	case "put":
		m = &storenode.Put{Object: o.Object, Bytes: content.Of(o.Object, o.DType, o.Size), Meta: meta, Deadline: patience}
	case "stream":
		key, meta.Size = "put", phalanx.UnknownSize
		// Only a Reader, so that nobody can tell how much is to come.
		m = &storenode.Put{Object: o.Object, Reader: struct{ io.Reader }{bytes.NewReader(content.Of(o.Object, o.DType, o.Size))}, Meta: meta, Deadline: patience}
	case "get":
		m = &storenode.Get{Object: o.Object, Deadline: patience}
	case "open":
		m = &storenode.Open{Object: o.Object, Deadline: patience}
	case "reduce":
		m = &storenode.Reduce{Target: o.Object, Sources: o.Sources, Op: o.Op, Num: o.Num, Degree: o.Degree, Deadline: patience}
	case "allreduce":
		m = &storenode.AllReduce{Target: o.Object, Sources: o.Sources, Op: o.Op, Num: o.Num, Degree: o.Degree, Deadline: patience}
	case "gather":
		m = &storenode.Gather{Sources: o.Sources, Num: o.Num, Deadline: patience}
	case "delete":
		m = &storenode.Delete{Object: o.Object, Deadline: patience}
	default:
		panic("there is no order " + o.Do)
	}
	key += " " + string(o.Object)
	w.pending[key] = append(w.pending[key], asked{o, c.Sender()})
	c.Request(w.node.Store(), m)
}

func (w *worker) over(c actor.Context, did string, id phalanx.ObjectID, result func(order) answer) {
	key := did + " " + string(id)
	of := w.pending[key]
	if len(of) == 0 {
		panic("an answer that nobody has asked for: " + key)
	}
	w.pending[key] = of[1:]
	b, err := json.Marshal(result(of[0].order))
	if err != nil {
		panic(err)
	}
	c.Send(of[0].by, wrapperspb.Bytes(b))
}

// check compares every byte with what it must be.
func (o order) check(got []byte, meta phalanx.Meta) error {
	want := content.Of(o.Object, o.DType, o.Size)
	if len(o.Sources) > 0 {
		var err error
		if want, err = content.Combined(o.Sources, o.Op, o.DType, o.Size); err != nil {
			return err
		}
	}
	if meta.DType != o.DType || meta.Size != o.Size {
		return fmt.Errorf("%s is of %d bytes of %v, want %d of %v", o.Object, meta.Size, meta.DType, o.Size, o.DType)
	}
	return content.Differ(o.Object, got, want)
}

// tell gives an agent an order and returns where its answer will be.
func tell(a agent, o order) *pendingAnswer {
	b, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return &pendingAnswer{a, o, a.node.System().Root.RequestFuture(a.pid, wrapperspb.Bytes(b), patience+patience/2)}
}

type pendingAnswer struct {
	of     agent
	order  order
	future *actor.Future
}

func (p *pendingAnswer) wait() (answer, error) {
	res, err := p.future.Result()
	if err != nil {
		return answer{}, fmt.Errorf("the agent on %s does not answer to %s %s: %w", p.of.on, p.order.Do, p.order.Object, err)
	}
	var a answer
	if err := json.Unmarshal(res.(*wrapperspb.BytesValue).GetValue(), &a); err != nil {
		return a, err
	}
	if a.Err != "" {
		err = errors.New(a.Err)
	}
	return a, err
}

// must waits for orders that have to succeed.
func must(t *testing.T, pending ...*pendingAnswer) []answer {
	t.Helper()
	var all []answer
	for _, p := range pending {
		a, err := p.wait()
		if err != nil {
			t.Errorf("%s %s on %s: %v", p.order.Do, p.order.Object, p.of.on, err)
		}
		all = append(all, a)
	}
	if t.Failed() {
		t.FailNow()
	}
	return all
}
