package group

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// net has the cores of some nodes talk to each other, with a millisecond for each
// message.
type net struct {
	t     *testing.T
	now   time.Duration
	view  uint64
	nodes map[phalanx.NodeID]*Core
	dead  map[phalanx.NodeID]bool
	queue []sent
	calls uint64

	done      map[uint64]Done
	givenUp   map[uint64]GivenUp
	revoked   map[string]map[phalanx.NodeID][]int
	failed    map[string]map[phalanx.NodeID][]int
	ended     map[phalanx.NodeID][]string
	hops      int
	delivered int
	lose      func(from, to phalanx.NodeID, m Message) bool
	after     func(n int) // hears of each message that was delivered
}

type sent struct {
	from, to phalanx.NodeID
	m        Message
}

func node(i int) phalanx.NodeID { return phalanx.MakeNodeID(fmt.Sprintf("n%02d", i), 1) }

func newNet(t *testing.T, n int) *net {
	w := &net{t: t, nodes: map[phalanx.NodeID]*Core{}, dead: map[phalanx.NodeID]bool{}, done: map[uint64]Done{}, givenUp: map[uint64]GivenUp{},
		revoked: map[string]map[phalanx.NodeID][]int{}, failed: map[string]map[phalanx.NodeID][]int{}, ended: map[phalanx.NodeID][]string{}}
	for i := range n {
		w.nodes[node(i)] = NewCore(Config{})
	}
	w.newView()
	return w
}

// newView tells all live nodes who is live.
func (w *net) newView() {
	w.view++
	members := map[phalanx.NodeID]bool{}
	for id := range w.nodes {
		if !w.dead[id] {
			members[id] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(members)) {
		w.step(id, Viewed{Self: id, Number: w.view, Members: members})
	}
}

// kill ends a node, which the others learn at once.
func (w *net) kill(i int) {
	w.dead[node(i)] = true
	w.newView()
}

func (w *net) step(id phalanx.NodeID, e Event) {
	if w.dead[id] {
		return
	}
	note := func(all map[string]map[phalanx.NodeID][]int, group string, ranks []int) {
		if all[group] == nil {
			all[group] = map[phalanx.NodeID][]int{}
		}
		all[group][id] = append(all[group][id], ranks...)
	}
	for _, o := range w.nodes[id].Step(w.now, e) {
		switch o := o.(type) {
		case Send:
			if t, ok := o.Message.(Tell); ok {
				if r, ok := t.News.(Revoke); ok {
					w.hops += len(r.Hops)
				}
			}
			if w.lose == nil || !w.lose(id, o.To, o.Message) {
				w.queue = append(w.queue, sent{id, o.To, o.Message})
			}
		case Done:
			if _, twice := w.done[o.ID]; twice {
				w.t.Errorf("call %d ends twice", o.ID)
			}
			w.done[o.ID] = o
		case GivenUp:
			w.givenUp[o.ID] = o
		case Revoked:
			note(w.revoked, o.Group, o.Ranks)
		case Failed:
			note(w.failed, o.Group, o.Ranks)
		case Ended:
			w.ended[id] = append(w.ended[id], o.Group)
		}
	}
}

// run goes on for a while.
func (w *net) run(d time.Duration) {
	for end := w.now + d; w.now < end; w.now += time.Millisecond {
		batch := w.queue
		w.queue = nil
		for _, s := range batch {
			if !w.dead[s.to] && !w.dead[s.from] {
				w.step(s.to, Heard{From: s.from, Message: s.m})
				w.delivered++
				if w.after != nil {
					w.after(w.delivered)
				}
			}
		}
		for _, id := range slices.Sorted(maps.Keys(w.nodes)) {
			if due, ok := w.nodes[id].Due(); ok && due <= w.now {
				w.step(id, Tick{})
			}
		}
		if len(w.queue) == 0 { // nothing happens before
			next := end
			for id, core := range w.nodes {
				if due, ok := core.Due(); ok && !w.dead[id] {
					next = min(next, due)
				}
			}
			w.now = max(w.now, next-time.Millisecond)
		}
	}
}

// call makes a call, and returns its number.
func (w *net) call(i int, e Call) uint64 {
	w.calls++
	e.ID = w.calls
	w.step(node(i), e)
	return e.ID
}

func roster(t *testing.T, members ...Member) *Roster {
	t.Helper()
	r, err := NewRoster(members)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// on returns members on the first k nodes, in turn.
func on(k, members int) []Member {
	var all []Member
	for i := range members {
		m := Member{Node: node(i % k)}
		if members > k {
			m.Label = fmt.Sprint("w", i)
		}
		all = append(all, m)
	}
	return all
}

// form has all members form a group, and returns the calls.
func (w *net) form(name string, r *Roster) []uint64 {
	var ids []uint64
	for rank, m := range r.Members() {
		ids = append(ids, w.call(w.index(m.Node), Call{Kind: CallForm, Group: name, Roster: r, Rank: rank}))
	}
	return ids
}

func (w *net) index(id phalanx.NodeID) int {
	for i := range len(w.nodes) + len(w.dead) {
		if node(i) == id {
			return i
		}
	}
	w.t.Fatalf("there is no node %s", id)
	return 0
}

// formed is form that has to succeed.
func (w *net) formed(name string, r *Roster) *Roster {
	w.t.Helper()
	ids := w.form(name, r)
	w.run(200 * time.Millisecond)
	for rank, id := range ids {
		if d, ok := w.done[id]; !ok || d.Outcome != OK || d.Group != name || d.Rank != rank {
			w.t.Fatalf("rank %d: %+v, %v", rank, d, ok)
		}
	}
	return r
}

// everyone has all live members of a group make a call.
func (w *net) everyone(group string, r *Roster, c func(rank int) Contribution) map[int]uint64 {
	ids := map[int]uint64{}
	for rank, m := range r.Members() {
		if !w.dead[m.Node] {
			ids[rank] = w.call(w.index(m.Node), Call{Kind: CallAgree, Group: group, Rank: rank, Contribution: c(rank)})
		}
	}
	return ids
}

// same returns what all live callers were told, which has to be the same.
func (w *net) same(r *Roster, ids map[int]uint64) Done {
	w.t.Helper()
	var first *Done
	for _, rank := range slices.Sorted(maps.Keys(ids)) {
		if w.dead[r.Members()[rank].Node] {
			continue
		}
		d, ok := w.done[ids[rank]]
		if !ok {
			w.t.Fatalf("rank %d still waits", rank)
		}
		if first == nil {
			first = &d
			continue
		}
		x, y := d, *first
		if x.Outcome != y.Outcome || x.Group != y.Group || x.Decision.Value != y.Decision.Value || !slices.Equal(x.Decision.Failed, y.Decision.Failed) ||
			!slices.Equal(x.Decision.Unacknowledged, y.Decision.Unacknowledged) || (x.Roster == nil) != (y.Roster == nil) || x.Roster != nil && x.Roster.digest != y.Roster.digest {
			w.t.Fatalf("rank %d is told %+v, another one %+v", rank, x, y)
		}
	}
	return *first
}
