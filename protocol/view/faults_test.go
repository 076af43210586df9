package view

import (
	"flag"
	"fmt"
	"math"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx"
)

var (
	seedFlag = flag.Int64("view.seed", 0, "run only this seed of TestFaults")
	seeds    = flag.Int64("view.seeds", 800, "how many seeds TestFaults runs")
)

// TestFaults runs a cluster over a network that loses, repeats and reorders,
// while nodes join, leave, die, are cut off, and owners and backups drop each
// other. After every step it checks what doc.go promises, and in the end that
// the cluster has become quiet. In every other run leases end when nobody wants one, and
// the nodes tick when they are due, which is seldom then.
func TestFaults(t *testing.T) {
	first, last := int64(1), *seeds
	if testing.Short() {
		last = min(last, 30)
	}
	if *seedFlag != 0 {
		first, last = *seedFlag, *seedFlag
	}
	var all tally
	for seed := first; seed <= last; seed++ {
		all.add(faults(t, seed))
		if t.Failed() {
			t.Fatalf("to see it again: go test ./protocol/view -run TestFaults -view.seed %d", seed)
		}
	}
	t.Logf("%+v", all)
	if *seedFlag == 0 && (all.Deaths == 0 || all.Leaders <= all.Runs || all.Drops == 0 || all.Fenced == 0 || all.Snapshots == 0) {
		t.Errorf("too little happened to say anything: %+v", all)
	}
}

type tally struct{ Runs, Views, Leaders, Deaths, Leaves, Cuts, Drops, Fenced, Snapshots int }

func (a *tally) add(b tally) {
	a.Runs += b.Runs
	a.Views += b.Views
	a.Leaders += b.Leaders
	a.Deaths += b.Deaths
	a.Leaves += b.Leaves
	a.Cuts += b.Cuts
	a.Drops += b.Drops
	a.Fenced += b.Fenced
	a.Snapshots += b.Snapshots
}

func faults(t *testing.T, seed int64) tally {
	rng := rand.New(rand.NewSource(seed))
	w := newNetwork(Config{Shards: 1 + rng.Intn(8), CompactEvery: 4 + rng.Intn(20)})
	if seed%2 == 0 {
		w.cfg.IdleAfter = time.Duration(50+seed%7*100) * time.Millisecond
	}
	w.rng, w.drop, w.dup, w.sync = rng, 0.05, 0.05, true
	in := newInvariants(t, w, seed)
	w.onStep = in.after
	w.boot("n0#1")
	count := tally{Runs: 1}
	born := 1
	for range 12 {
		act(w, rng, &born, &count)
		if all := w.live(); w.cfg.IdleAfter > 0 {
			w.want(all[int(seed/2)%len(all)].id)
		}
		w.run(time.Duration(rng.Intn(800)) * time.Millisecond)
		if t.Failed() {
			return count
		}
	}
	// Faults stop. Who died is found to be dead; who was cut off comes back.
	clear(w.cut)
	w.drop, w.dup = 0, 0
	for range 8 {
		w.run(400 * time.Millisecond)
		tellDead(w)
	}
	w.run(3 * time.Second)
	for range 3 { // as often as it takes with a delay of a hundredth of a second
		for _, n := range w.live() {
			w.want(n.id)
		}
		w.run(30 * time.Millisecond)
	}
	in.quiet()
	count.Views, count.Leaders, count.Snapshots = len(in.views), len(in.leaders), in.snapshots
	for _, n := range w.nodes {
		if n.fenced {
			count.Fenced++
		}
	}
	return count
}

// act lets something happen from which a majority of the voters recovers.
func act(w *network, rng *rand.Rand, born *int, count *tally) {
	members := slices.DeleteFunc(w.live(), func(n *node) bool { return !w.newest().Has(n.id) })
	any := members[rng.Intn(len(members))]
	switch rng.Intn(8) {
	case 0, 1, 2: // a new node, or an old one again
		if len(members) < 7 {
			name, life := fmt.Sprintf("n%d", *born), uint64(1)
			if old := w.nodes[rng.Intn(len(w.nodes))]; old.dead || old.fenced {
				name, life = old.id.Name(), uint64(len(w.nodes)+1)
			}
			*born++
			w.join(phalanx.MakeNodeID(name, life), any.id)
		}
	case 3: // a death, when nobody else is away
		tellDead(w)
		if len(members) >= 4 && len(w.cut) == 0 && !someDead(w) {
			count.Deaths++
			any.dead = true
			for _, n := range w.live() {
				id, gone := n.id, any.id
				w.at(w.now+time.Duration(1+rng.Intn(5))*time.Millisecond, id, func(now time.Duration) Event {
					return PeerBroken{Node: gone, Now: now}
				})
			}
			w.run(20 * time.Millisecond)
			tellDead(w)
		}
	case 4:
		if len(members) >= 3 && len(w.cut) == 0 {
			count.Leaves++
			w.propose(any.id, Leaving{Node: any.id})
			w.run(time.Duration(rng.Intn(300)) * time.Millisecond)
			w.propose(any.id, RemoveMember{Node: any.id})
		}
	case 5: // some are cut off, perhaps in one direction, and perhaps removed
		if len(members) >= 4 && !someDead(w) {
			count.Cuts++
			side := []phalanx.NodeID{any.id} // at most one voter
			for _, n := range members {
				if n != any && !slices.Contains(w.newest().Voters, n.id) && rng.Intn(2) == 0 {
					side = append(side, n.id)
				}
			}
			one := rng.Intn(3) == 0
			for _, n := range w.nodes {
				if slices.Contains(side, n.id) {
					continue
				}
				for _, id := range side {
					w.cut[[2]phalanx.NodeID{id, n.id}] = true
					if !one {
						w.cut[[2]phalanx.NodeID{n.id, id}] = true
					}
				}
			}
			if rng.Intn(2) == 0 {
				for _, n := range members {
					if !slices.Contains(side, n.id) {
						w.propose(n.id, RemoveMember{Node: side[rng.Intn(len(side))]})
						break
					}
				}
			}
			w.run(time.Duration(rng.Intn(1500)) * time.Millisecond)
			clear(w.cut)
		}
	case 6: // both want the other to go
		v := w.newest()
		i := rng.Intn(len(v.Shards))
		if s := v.Shards[i]; s.Backup != "" {
			count.Drops++
			for _, pair := range [][2]phalanx.NodeID{{s.Owner, s.Backup}, {s.Backup, s.Owner}} {
				if n := w.node(pair[0]); n != nil && !n.fenced {
					w.propose(n.id, Drop{Shard: i, Epoch: s.Epoch, Node: pair[1]})
				}
			}
		}
	case 7: // a stream breaks without reason
		w.broken(any.id, members[rng.Intn(len(members))].id)
	}
}

func someDead(w *network) bool {
	v := w.newest()
	return slices.ContainsFunc(w.nodes, func(n *node) bool { return n.dead && v.Has(n.id) })
}

func tellDead(w *network) {
	v := w.newest()
	for _, dead := range w.nodes {
		if !dead.dead || !v.Has(dead.id) {
			continue
		}
		for _, n := range w.live() {
			if v.Has(n.id) {
				w.propose(n.id, RemoveMember{Node: dead.id, Dead: len(w.nodes)%2 == 0})
			}
		}
	}
}

// invariants watches a network.
type invariants struct {
	t         *testing.T
	w         *network
	seed      int64
	views     map[uint64]string // as published
	shards    map[uint64][]Shard
	elected   map[uint64][]phalanx.NodeID // the voters of each view
	since     map[uint64]time.Duration    // when first published
	newest    uint64
	seen      map[phalanx.NodeID]uint64
	leaders   map[uint64]phalanx.NodeID // by term
	leaving   map[phalanx.NodeID]bool
	snapshots int
}

func newInvariants(t *testing.T, w *network, seed int64) *invariants {
	return &invariants{
		t: t, w: w, seed: seed,
		views: map[uint64]string{}, shards: map[uint64][]Shard{}, elected: map[uint64][]phalanx.NodeID{}, since: map[uint64]time.Duration{},
		seen: map[phalanx.NodeID]uint64{}, leaders: map[uint64]phalanx.NodeID{}, leaving: map[phalanx.NodeID]bool{},
	}
}

func (in *invariants) fail(format string, args ...any) {
	in.t.Errorf("seed %d at %v: %s", in.seed, in.w.now, fmt.Sprintf(format, args...))
}

func (in *invariants) after(n *node, ev Event, out []Effect) {
	for _, e := range out {
		switch e := e.(type) {
		case Publish:
			in.published(n, e.View)
		case Lead:
			if e.Leader == n.id {
				if was := in.leaders[e.Term]; was != "" && was != n.id {
					in.fail("%s and %s lead term %d", was, n.id, e.Term)
				}
				in.leaders[e.Term] = n.id
			}
		case Send:
			if strings.HasPrefix(Describe(e.Data), "Snap") {
				in.snapshots++
			}
		case Reject:
			if in.w.byName && strings.Contains(e.Err.Error(), "is for another node") {
				break // it is for the life before
			}
			if !strings.Contains(e.Err.Error(), "was removed") && !strings.Contains(e.Err.Error(), "in no cluster") {
				in.fail("%s: %v", n.id, e)
			}
		}
	}
	in.leased()
	in.alone(n)
}

// alone checks that a leader proposes nothing behind the end of a change of the voters
// before that is decided. Those that vote no more may have what is behind it, and the
// voters not: these may not know yet that the change has ended, and would ask those, whose
// logs are longer, in vain for their votes for ever.
func (in *invariants) alone(n *node) {
	v := n.voter
	if n.lead == nil || v.applied == v.last() {
		return
	}
	entries, err := v.log.Entries(v.applied+1, v.last()+1, math.MaxUint64)
	if err != nil {
		in.fail("%s: its log: %v", n.id, err)
		return
	}
	for i, e := range entries[:len(entries)-1] {
		cc := new(raftpb.ConfChangeV2)
		if changesVoters(e) && proto.Unmarshal(e.GetData(), cc) == nil && len(cc.GetChanges()) == 0 && entries[i+1].GetTerm() == e.GetTerm() {
			in.fail("%s has proposed %v behind the end of a change of the voters", n.id, entries[i+1])
		}
	}
}

func (in *invariants) published(n *node, v View) {
	text := string(EncodeView(v))
	if was, ok := in.views[v.Number]; ok && was != text {
		in.fail("%s published another view %d: %s, not %s", n.id, v.Number, text, was)
	}
	if in.seen[n.id] >= v.Number {
		in.fail("%s published view %d after %d", n.id, v.Number, in.seen[n.id])
	}
	in.seen[n.id] = v.Number
	if _, ok := in.views[v.Number]; ok {
		return
	}
	in.views[v.Number], in.shards[v.Number], in.since[v.Number], in.elected[v.Number] = text, v.Shards, in.w.now, v.Voters
	in.newest = max(in.newest, v.Number)
	for _, m := range v.Members {
		in.leaving[m.ID] = m.Leaving
	}
	old, ok := in.shards[v.Number-1]
	for i := range v.Shards {
		if ok && old[i].Epoch > v.Shards[i].Epoch {
			in.fail("shard %d went from %v to %v", i, old[i], v.Shards[i])
		}
		// Who owned it and was removed without having handed over must not
		// believe any more that it may answer.
		if owner := in.w.node(ownerOf(old, i)); ok && owner != nil && !owner.dead && !v.Has(owner.id) && owner.id != v.Shards[i].Owner {
			if left := owner.lease - (in.w.now + owner.skew); left > 0 && !owner.fenced {
				in.fail("%s lost shard %d in view %d, and has a lease for %v", owner.id, i, v.Number, left)
			}
		}
	}
}

func ownerOf(shards []Shard, i int) phalanx.NodeID {
	if i < len(shards) {
		return shards[i].Owner
	}
	return ""
}

// leased checks that a lease never lets a node rely for longer than LeaseFor on
// a view that is not the newest.
func (in *invariants) leased() {
	limit := in.w.now - 300*time.Millisecond
	for _, n := range in.w.live() {
		next := n.View().Number + 1
		if since, ok := in.since[next]; ok && since < limit && n.lease > in.w.now+n.skew {
			in.fail("%s has a lease on view %d, but %d is there since %v", n.id, next-1, next, since)
		}
	}
}

// quiet checks what must be so some time after the last fault.
func (in *invariants) quiet() {
	v := in.w.newest()
	leaders := 0
	for _, n := range in.w.live() {
		if !v.Has(n.id) {
			continue
		}
		if n.lead != nil {
			leaders++
		}
		switch {
		case n.View().Number != v.Number:
			in.fail("%s has view %d, the newest is %d", n.id, n.View().Number, v.Number)
		case n.lease <= in.w.now+n.skew:
			in.fail("%s has no lease", n.id)
		case len(n.own) > 0:
			in.fail("%s still asks for %v", n.id, n.own[0].cmd)
		}
	}
	if leaders != 1 {
		in.fail("%d members lead", leaders)
	}
	for _, n := range in.w.nodes {
		if n.dead && v.Has(n.id) {
			in.fail("%s is dead and a member", n.id)
		}
	}
	staying := slices.DeleteFunc(slices.Clone(v.Members), func(m Member) bool { return m.Leaving })
	if len(staying) > 0 && len(v.Voters) != votersOf(len(staying)) {
		in.fail("%d voters of %d members", len(v.Voters), len(staying))
	}
	for i, s := range v.Shards {
		if first, second := wanted(v.Members, i); s.Owner != first || s.Backup != second || s.Next != "" {
			in.fail("shard %d is %v, wanted are %s and %s", i, s, first, second)
		}
	}
}

// TestSameEventsSameEffects replays what happened to each node.
func TestSameEventsSameEffects(t *testing.T) {
	for seed := int64(1); seed <= 5; seed++ {
		rng := rand.New(rand.NewSource(seed))
		w := newNetwork(Config{Shards: 4, CompactEvery: 8})
		w.rng, w.drop, w.dup, w.sync = rng, 0.05, 0.05, true
		type step struct {
			ev  Event
			out string
		}
		steps := map[phalanx.NodeID][]step{}
		w.onStep = func(n *node, ev Event, out []Effect) {
			steps[n.id] = append(steps[n.id], step{ev, exact(out)})
		}
		w.boot("n0#1")
		born := 1
		for range 12 {
			act(w, rng, &born, new(tally))
			w.run(300 * time.Millisecond)
		}
		for _, n := range w.nodes {
			again := New(n.cfg)
			for i, s := range steps[n.id] {
				if out := exact(again.Step(s.ev)); out != s.out {
					t.Fatalf("seed %d: event %d at %s, %#v:\n%s, the first time\n%s", seed, i, n.id, s.ev, out, s.out)
				}
			}
		}
	}
}

// exact returns all that is in the effects.
func exact(out []Effect) string {
	var b strings.Builder
	for _, e := range out {
		switch e := e.(type) {
		case Send:
			fmt.Fprintf(&b, "%v %x\n", e, e.Data)
		case Push:
			fmt.Fprintf(&b, "%v %s\n", e, EncodeView(e.View))
		case Publish:
			fmt.Fprintf(&b, "%v %s\n", e, EncodeView(e.View))
		default:
			fmt.Fprintf(&b, "%T %v\n", e, e)
		}
	}
	return b.String()
}
