package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/history"
	"github.com/phalanx-go/phalanx/internal/poll"
)

// recorder makes random calls on few objects and notes what came of them.
type recorder struct {
	t     *testing.T
	nodes []*cluster.Node
	began time.Time

	looked sync.Once

	mu   sync.Mutex
	ops  []history.Op
	cuts []cut
}

// cut is a time in which a node was not a member, or its actors had died.
type cut struct {
	node     string
	from, to time.Duration
}

func (r *recorder) clock() time.Duration { return time.Since(r.began) }

func (r *recorder) add(op history.Op) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops = append(r.ops, op)
}

// The sizes of the versions of an object: 0 and 1 could be the same, as far as
// is known when they are put. Every second object is too large to be inline.
func version(id phalanx.ObjectID, n int) []byte {
	size := 2000
	if id[len(id)-1]%2 == 0 {
		size = 150_000
	}
	return random(size+n/2, uint64(n))
}

// call makes one random call.
func (r *recorder) call(ctx context.Context, rng *rand.Rand, id phalanx.ObjectID) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	n := r.nodes[rng.IntN(len(r.nodes))]
	op := history.Op{Object: id, Node: n.ID().Name(), Begin: r.clock()}
	var err error
	switch dice := rng.IntN(100); {
	case dice < 30:
		v := rng.IntN(4)
		data := version(id, v)
		op.Call, op.Version, op.Size = history.Put, fmt.Sprint("v", v), int64(len(data))
		_, err = n.Put(ctx, id, data, cluster.WithCopies(1+rng.IntN(2)))
	case dice < 75:
		op.Call = history.Get
		var v interface {
			Bytes() []byte
			Release()
		}
		if v, err = n.TryGet(ctx, id); err == nil {
			op.Version = "unknown bytes"
			for i := range 4 {
				if slices.Equal(v.Bytes(), version(id, i)) {
					op.Version = fmt.Sprint("v", i)
				}
			}
			v.Release()
		}
	case dice < 98:
		op.Call = history.Stat
		st, e := n.Stat(ctx, id)
		op.State, err = st.State.String(), e
	default:
		op.Call = history.Delete
		err = n.Delete(ctx, id)
	}
	op.End = r.clock()
	if errors.Is(err, phalanx.ErrDeadline) {
		r.look(id, err)
	}
	var pe *phalanx.Error
	if errors.As(err, &pe) {
		op.Outcome = pe.Kind
	}
	r.add(op)
}

// oust has a node removed, which can be the end of the only copies that count,
// and waits until it is back.
func (r *recorder) oust(t *testing.T, rng *rand.Rand, ids []phalanx.ObjectID) {
	i := rng.IntN(len(r.nodes))
	victim, other := r.nodes[i], r.nodes[(i+1)%len(r.nodes)]
	was, from := victim.ID(), r.clock()
	for _, id := range ids {
		if len(version(id, 0)) > cluster.DefaultInlineLimit {
			r.add(history.Op{Call: history.Loss, Object: id, Begin: from, End: history.Never})
		}
	}
	again := time.NewTicker(time.Second)
	defer again.Stop()
	other.Oust(was)
	if !poll.Holds(func() bool {
		select {
		case <-again.C: // a proposal can be lost with the leader that it was sent to
			other.Oust(was)
		default:
		}
		return r.settled(was)
	}) {
		t.Errorf("%s was removed and is not back", was)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cuts = append(r.cuts, cut{was.Name(), from, r.clock()})
}

// look logs what everybody knows of an object, once: the rest of a long wait
// tells nothing new.
func (r *recorder) look(id phalanx.ObjectID, why error) {
	r.looked.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		r.mu.Lock()
		ops := slices.DeleteFunc(slices.Clone(r.ops), func(o history.Op) bool { return o.Object != id })
		r.mu.Unlock()
		r.t.Logf("%s: %v; %v", id, why, ops)
		for _, n := range r.nodes {
			st, err := n.Stat(ctx, id)
			r.t.Logf("%s has %+v, and is told %+v, %v, in %v", n.ID(), n.Here(id), st, err, n.View())
		}
	})
}

// agree waits until all nodes have the same bytes of each object, or none.
func (r *recorder) agree(t *testing.T, ids []phalanx.ObjectID) {
	t.Helper()
	for _, id := range ids {
		var seen []string
		if !poll.Holds(func() bool {
			seen = seen[:0]
			for _, n := range r.nodes {
				seen = append(seen, saw(n, id))
			}
			return !slices.ContainsFunc(seen, func(s string) bool { return s != seen[0] })
		}) {
			r.look(id, nil)
			t.Errorf("%s: in the end the nodes see %q", id, seen)
		}
	}
}

// saw says what a node has of an object.
func saw(n *cluster.Node, id phalanx.ObjectID) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	v, err := n.TryGet(ctx, id)
	var pe *phalanx.Error
	switch {
	case errors.As(err, &pe):
		return pe.Kind.Error()
	case err != nil:
		return err.Error()
	}
	defer v.Release()
	return v.Info().Gen.String()
}

// settled reports whether a node is back and all shards have a backup.
func (r *recorder) settled(was phalanx.NodeID) bool {
	for _, n := range r.nodes {
		v := n.View()
		if len(v.Members) != len(r.nodes) || v.Has(was) || slices.ContainsFunc(r.nodes, func(m *cluster.Node) bool { return !v.Has(m.ID()) }) || !n.Settled(context.Background()) {
			return false
		}
	}
	return true
}

func (r *recorder) wasCut(node string, from, to time.Duration) bool {
	return slices.ContainsFunc(r.cuts, func(c cut) bool { return c.node == node && c.from <= to && c.to >= from })
}

// What all nodes see of objects has an order, also while nodes are removed and
// come back, and shards' actors die.
func TestHistoriesAreLinearizable(t *testing.T) {
	r := &recorder{t: t, nodes: start(t, 5, silent), began: time.Now()}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	rounds := 12
	if testing.Short() {
		rounds = 4
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var all []phalanx.ObjectID
	for round := range rounds {
		var ids []phalanx.ObjectID
		for i := range 6 {
			ids = append(ids, phalanx.ObjectID(fmt.Sprintf("object/%d/%d", round, i)))
		}
		var clients sync.WaitGroup
		for c := range 8 {
			mine := rand.New(rand.NewPCG(uint64(round), uint64(c)))
			clients.Go(func() {
				for range 40 {
					r.call(ctx, mine, ids[mine.IntN(len(ids))])
				}
			})
		}
		if round%3 == 2 { // not both: a shard could lose both replicas, and all that it knew
			crash(r.nodes[rng.IntN(len(r.nodes))], "shard-")
		} else {
			r.oust(t, rng, ids)
		}
		clients.Wait()
		eventually(t, "settled", func() bool { return r.settled("") })
		all = append(all, ids...)
	}
	r.agree(t, all)
	history.MarkStale(r.ops, time.Second, r.wasCut)
	verdict := history.Check(r.ops, 20*time.Second)
	for _, w := range verdict.Wrong {
		t.Error(w)
	}
	if len(verdict.Undecided) > 0 || verdict.Objects != 6*rounds {
		t.Errorf("%d objects, undecided: %v", verdict.Objects, verdict.Undecided)
	}
	counts := map[string]int{}
	for _, o := range r.ops {
		if o.Outcome == phalanx.ErrDeadline { // no fault lasts that long
			t.Errorf("%s: %v", o.Object, o)
		}
		counts[fmt.Sprint(o.Call, " ", o.Outcome)]++
	}
	t.Logf("%d ops judged: %v", verdict.Ops, counts)
	lie(t, r.ops)
}

// lie checks that a history with one answer that was never given does not pass.
func lie(t *testing.T, ops []history.Op) {
	t.Helper()
	for i, o := range ops {
		if o.Call == history.Put && o.Outcome == 0 {
			lied := slices.Clone(ops)
			lied[i].Outcome = phalanx.ErrDeleted // and then it was read
			lied = append(lied, history.Op{Call: history.Get, Object: o.Object, Node: "liar", Version: "never put", Begin: o.End, End: o.End + 1})
			if v := history.Check(lied, 20*time.Second); len(v.Wrong) != 1 || v.Wrong[0].Object != o.Object {
				t.Errorf("what was found in a history with a lie: %v", v.Wrong)
			}
			return
		}
	}
	t.Error("nothing was put")
}
