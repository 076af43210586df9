package faults

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/children"
	"github.com/phalanx-go/phalanx/internal/content"
	"github.com/phalanx-go/phalanx/storenode"
)

// order is what a node process is asked to do, one line of JSON. All objects
// are arrays of int64, all reduces sums.
type order struct {
	N       int // names the answer
	Do      string
	Object  phalanx.ObjectID // of putAll, checkAll: what the ids begin with
	Size    int64
	Sources []phalanx.ObjectID // of a reduce; for a get: what the object must be made of
	Num     int                // of sources; for putAll, checkAll: of objects
	Degree  int
	Copies  int
	Like    phalanx.ObjectID // whose content it has; "": its own
}

// content is what the object of an order must be.
func (o order) content() []byte { return content.Of(cmp.Or(o.Like, o.Object), phalanx.Int64, o.Size) }

// line is what a node process says: the answer to an order, or an event.
type line struct {
	N       int
	Err     string       `json:",omitempty"`
	ErrKind phalanx.Kind `json:",omitempty"`
	In, Out []phalanx.ObjectID
	Gen     phalanx.Generation `json:",omitzero"` // of stat
	Pinned  []phalanx.NodeID   // of stat: who has a complete pinned copy
	Tree    *cluster.Tree      `json:",omitempty"`
	State   *state             `json:",omitempty"`
	Text    string             `json:",omitempty"`

	Event string          `json:",omitempty"` // its kind
	Data  json.RawMessage `json:",omitempty"`
}

// state is what a node process says of itself.
type state struct {
	cluster.Status
	Control    string
	Leader     phalanx.NodeID
	Goroutines int
	Whole      bool // every shard has an owner and a backup that are members, and nothing moves
}

// nodeConfig is how a node process joins.
type nodeConfig struct {
	Name, Addr    string
	Control, Data int // ports; 0: free ones
	Seeds         []string
}

// nodeProcess is the inside of a node process.
type nodeProcess struct{ node *cluster.Node }

// beNode is a node until the test that launched it is gone.
func beNode(config string) error {
	var cfg nodeConfig
	if err := json.Unmarshal([]byte(config), &cfg); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	node, err := cluster.Join(ctx, cluster.Config{Name: cfg.Name, Bind: cfg.Addr, ControlPort: cfg.Control, DataPort: cfg.Data, Insecure: true, Seeds: cfg.Seeds, Alone: len(cfg.Seeds) == 0, Deadline: patience, Memory: 1 << 30})
	if err != nil {
		return err
	}
	p := &nodeProcess{node}
	go func() {
		for e := range node.Events(context.Background()) {
			data, _ := json.Marshal(e) // as events can be
			children.Say(line{Event: e.Kind(), Data: data})
		}
	}()
	children.Say(line{State: p.state()})
	return children.Orders(func(o order) { go p.carryOut(o) })
}

func (p *nodeProcess) carryOut(o order) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	l := line{N: o.N}
	err := p.do(ctx, o, &l)
	if err != nil {
		l.Err = err.Error()
		errors.As(err, &l.ErrKind)
		if e := (*phalanx.Error)(nil); errors.As(err, &e) {
			l.ErrKind = e.Kind
		}
	}
	children.Say(l)
}

func (p *nodeProcess) do(ctx context.Context, o order, l *line) (err error) {
	switch o.Do {
	case "put":
		return p.put(ctx, o)
	case "get":
		return p.get(ctx, o)
	case "open":
		return p.open(ctx, o)
	case "stat":
		var s storenode.ObjectStat
		s, err = p.node.Stat(ctx, o.Object)
		l.Gen = s.Gen
		for _, h := range s.Holders {
			l.Text += fmt.Sprintf("%s from %s\n", h.Node, h.Upstream)
			if h.Complete && h.Pinned {
				l.Pinned = append(l.Pinned, h.Node)
			}
		}
	case "delete":
		return p.node.Delete(ctx, o.Object)
	case "reduce":
		var r storenode.ReduceResult
		r, err = p.node.Reduce(ctx, storenode.Reduce{Target: o.Object, Sources: o.Sources, Op: phalanx.Sum, Num: o.Num, Degree: o.Degree})
		l.In, l.Out = r.In, r.Out
	case "allreduce":
		v, r, err := p.node.AllReduce(ctx, storenode.Reduce{Target: o.Object, Sources: o.Sources, Op: phalanx.Sum})
		if err != nil {
			return err
		}
		defer v.Release()
		l.In, l.Out = r.In, r.Out
		want, err := content.Combined(r.In, phalanx.Sum, phalanx.Int64, o.Size)
		if err != nil {
			return err
		}
		return content.Differ(o.Object, v.Bytes(), want)
	case "putAll", "checkAll", "deleteAll":
		return p.all(ctx, o)
	case "tree":
		var t cluster.Tree
		t, err = p.node.Tree(ctx, o.Object)
		l.Tree = &t
	case "state":
		l.State = p.state()
	case "goroutines":
		var text strings.Builder
		err = pprof.Lookup("goroutine").WriteTo(&text, 1)
		l.Text = text.String()
	case "replicas":
		v := p.node.View()
		s := v.Shards[o.Object.Shard(len(v.Shards))]
		l.Text = fmt.Sprint(s.Owner, " ", s.Backup)
	case "leave":
		return p.node.Leave(ctx)
	default:
		panic("there is no order " + o.Do)
	}
	return err
}

func (p *nodeProcess) put(ctx context.Context, o order) error {
	_, err := p.node.Put(ctx, o.Object, o.content(), cluster.WithArray(phalanx.Int64, o.Size/8), cluster.WithCopies(max(o.Copies, 1)))
	return err
}

// open checks every byte that arrives, also of what ends early. It keeps none: to grow a
// buffer moves all that is in it, and on a busy machine Go then holds up the whole process,
// its heartbeats too, for so long that the others remove it.
func (p *nodeProcess) open(ctx context.Context, o order) error {
	r, err := p.node.Open(ctx, o.Object)
	if err != nil {
		return err
	}
	defer r.Close()
	got := &expected{object: o.Object, rest: o.content()}
	if _, err := r.WriteTo(got); err != nil {
		return err
	}
	if len(got.rest) > 0 {
		return fmt.Errorf("%s has %d bytes less than it must have", o.Object, len(got.rest))
	}
	return nil
}

// expected is a Writer that takes the bytes of an object, and no others.
type expected struct {
	object phalanx.ObjectID
	rest   []byte // that have not come yet
}

func (e *expected) Write(b []byte) (int, error) {
	n := min(len(b), len(e.rest))
	if err := content.Differ(e.object, b, e.rest[:n]); err != nil {
		return 0, fmt.Errorf("%d bytes before the end: %w", len(e.rest), err)
	}
	e.rest = e.rest[n:]
	return n, nil
}

// get checks every byte.
func (p *nodeProcess) get(ctx context.Context, o order) error {
	v, err := p.node.Get(ctx, o.Object)
	if err != nil {
		return err
	}
	defer v.Release()
	want := o.content()
	if len(o.Sources) > 0 {
		if want, err = content.Combined(o.Sources, phalanx.Sum, phalanx.Int64, o.Size); err != nil {
			return err
		}
	}
	return content.Differ(o.Object, v.Bytes(), want)
}

// all does the same with many objects, some at a time.
func (p *nodeProcess) all(ctx context.Context, o order) error {
	var group sync.WaitGroup
	errs, ids := make(chan error, o.Num), make(chan phalanx.ObjectID)
	for range 8 {
		group.Go(func() {
			for id := range ids {
				var err error
				switch o.Do {
				case "putAll":
					err = p.put(ctx, order{Object: id, Size: o.Size})
				case "checkAll":
					err = p.get(ctx, order{Object: id, Size: o.Size})
				case "deleteAll":
					err = p.node.Delete(ctx, id)
				}
				if err != nil {
					errs <- err
				}
			}
		})
	}
	for i := range o.Num {
		ids <- phalanx.ObjectID(fmt.Sprint(o.Object, "/", i))
	}
	close(ids)
	group.Wait()
	select {
	case err := <-errs:
		return fmt.Errorf("one of %d: %w", len(errs)+1, err)
	default:
		return nil
	}
}

func (p *nodeProcess) state() *state {
	s := &state{Status: p.node.Status(), Control: p.node.ControlAddr(), Leader: p.node.Leader(), Goroutines: runtime.NumGoroutine(), Whole: true}
	v := p.node.View()
	for _, row := range v.Shards {
		if !v.Has(row.Owner) || !v.Has(row.Backup) || row.Next != "" {
			s.Whole = false
		}
	}
	s.Uptime = s.Uptime.Round(time.Millisecond)
	return s
}

// decoded returns the event of a line.
func (l line) decoded() (actors.Event, error) { return actors.Decode(l.Event, l.Data) }
