package view

import (
	"flag"
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

var (
	votersSeed  = flag.Int64("view.voters.seed", 0, "run only this seed of TestVotersAreReplaced")
	votersFirst = flag.Int64("view.voters.first", 1, "the first seed of TestVotersAreReplaced")
	votersSeeds = flag.Int64("view.voters.seeds", 150, "how many seeds TestVotersAreReplaced runs")
)

// TestVotersAreReplaced runs clusters in which voters die, hang, are cut off, join
// and leave at the worst of moments: a leader while it publishes, or while its
// change of the voters is on its way. Several things go wrong at a time, as long as
// a majority of the voters lives. When the faults stop, every run has to come to one
// leader and to a view of all nodes that live.
func TestVotersAreReplaced(t *testing.T) {
	first, last := *votersFirst, *votersFirst+*votersSeeds-1
	if testing.Short() {
		last = min(last, first+49)
	}
	if *votersSeed != 0 {
		first, last = *votersSeed, *votersSeed
	}
	met := map[string]int{}
	for seed := first; seed <= last; seed++ {
		e := newElectorate(t, seed)
		e.play()
		for what, n := range e.met {
			met[what] += n
		}
		if t.Failed() {
			t.Fatalf("to see it again: go test ./protocol/view -run TestVotersAreReplaced -view.voters.seed %d", seed)
		}
	}
	t.Logf("%d seeds: %v", last-first+1, met)
	for _, what := range []string{"crash", "crash of a leader that publishes other voters", "hang", "cut", "removed", "restart", "leave", "join"} {
		if *votersSeed == 0 && met[what] == 0 {
			t.Errorf("no run has met: %s", what)
		}
	}
}

// electorate is one run.
type electorate struct {
	*network
	t    *testing.T
	seed int64
	in   *invariants
	fate *rand.Rand
	met  map[string]int

	names  int
	lives  uint64
	doomed bool                             // the next leader that publishes other voters dies as it does
	away   map[phalanx.NodeID]time.Duration // since when a node does not answer
	came   map[phalanx.NodeID]time.Duration
	asked  map[phalanx.NodeID]time.Duration // when a node that is no member asked last
	begun  map[phalanx.NodeID]time.Duration // since when a leader has a change of the voters that it has not applied
	spoke  map[phalanx.NodeID]time.Duration // when a node sent something last
	mends  []mend

	struck  time.Duration // when something went wrong last
	applied uint64        // the highest index that any node has applied
	decided [][]uint64    // the voters by then, and those before them while they change
}

// mend ends a fault.
type mend struct {
	at time.Duration
	do func()
}

func newElectorate(t *testing.T, seed int64) *electorate {
	w := newNetwork(Config{Shards: 2, CompactEvery: 4 + int(seed%20)})
	e := &electorate{network: w, t: t, seed: seed, fate: rand.New(rand.NewSource(seed)), met: map[string]int{},
		away: map[phalanx.NodeID]time.Duration{}, came: map[phalanx.NodeID]time.Duration{}, spoke: map[phalanx.NodeID]time.Duration{}, asked: map[phalanx.NodeID]time.Duration{}, begun: map[phalanx.NodeID]time.Duration{}}
	w.rng, w.sync, w.byName = rand.New(rand.NewSource(-seed)), true, true
	if seed%3 == 0 {
		w.drop, w.dup = 0.03, 0.03
	}
	e.in = newInvariants(t, w, seed)
	w.onStep = e.after
	return e
}

const (
	watchEvery = 20 * time.Millisecond
	silentFor  = 500 * time.Millisecond
	givesUp    = 10 * time.Second
	healsIn    = 60 * time.Second
)

func (e *electorate) play() {
	e.boot(e.name())
	for range 2 + e.fate.Intn(8) {
		e.newcomer()
		e.pass(time.Duration(e.fate.Intn(60)) * time.Millisecond)
	}
	if e.fate.Intn(3) > 0 {
		e.pass(time.Second)
	}
	for range 3 + e.fate.Intn(6) {
		e.fault()
		e.pass(time.Duration(e.fate.Intn(700)) * time.Millisecond / time.Duration(1+e.fate.Intn(20)))
	}
	e.doomed, e.drop, e.dup = false, 0, 0
	for _, m := range e.mends {
		m.do()
	}
	e.mends = nil
	for _, n := range slices.Clone(e.nodes) { // who knows only the dead would learn nothing
		if of := e.members(); n.dead && e.last(n.id.Name()) == n && len(of) > 0 {
			e.born(n.id.Name(), of[0].id)
		}
	}
	what := "nothing"
	for end := e.now + healsIn; what != "" && e.now < end && !e.t.Failed(); what = e.unsettled() {
		e.pass(200 * time.Millisecond)
	}
	if what != "" {
		e.t.Errorf("seed %d, %v after the faults stopped: %s", e.seed, healsIn, what)
		for _, n := range e.live() {
			e.t.Logf("%s: %v\n\t%v", n.id, n.View(), n.Core)
		}
	}
}

// pass lets time pass, in which nodes find out who does not answer, those that were
// removed join again, and faults end.
func (e *electorate) pass(d time.Duration) {
	for end := e.now + d; e.now < end && !e.t.Failed(); {
		e.run(min(watchEvery, end-e.now))
		for i := 0; i < len(e.mends); i++ {
			if m := e.mends[i]; m.at <= e.now {
				e.mends = slices.Delete(e.mends, i, i+1)
				i--
				m.do()
			}
		}
		e.watch()
		e.rejoin()
	}
}

func (e *electorate) name() phalanx.NodeID {
	e.names++
	e.lives++
	return phalanx.MakeNodeID(fmt.Sprint("n", e.names-1), e.lives)
}

// awake returns the nodes that run.
func (e *electorate) awake() []*node {
	return slices.DeleteFunc(e.live(), func(n *node) bool { return n.hung })
}

func (e *electorate) members() []*node {
	v := e.newest()
	return slices.DeleteFunc(e.awake(), func(n *node) bool { return !v.Has(n.id) })
}

func (e *electorate) newcomer() {
	if of := e.members(); len(of) > 0 && len(e.live()) < 10 {
		e.met["join"]++
		id := e.name()
		e.begin(id, of[e.fate.Intn(len(of))].id)
	}
}

// rejoin has nodes ask again that are no members yet, and those that were removed
// come back.
func (e *electorate) rejoin() {
	of := e.members()
	if len(of) == 0 {
		return
	}
	seed := of[e.fate.Intn(len(of))]
	for _, n := range slices.Clone(e.nodes) {
		switch {
		case n.dead || n.hung || n.retired:
		case n.fenced || !n.member && e.now-e.came[n.id] > givesUp: // removed, perhaps before it knew that it was let in
			n.retired, n.fenced = true, true
			e.met["removed"]++
			e.born(n.id.Name(), seed.id)
		case !n.member && e.now-e.asked[n.id] > silentFor:
			e.asked[n.id] = e.now
			v := seed.View()
			e.step(n, func(now time.Duration) Event { return Learn{From: seed.id, View: v, Now: now} })
			e.propose(n.id, add(n, v))
		}
	}
}

// born begins another life of a node.
func (e *electorate) born(name string, seed phalanx.NodeID) {
	e.lives++
	e.begin(phalanx.MakeNodeID(name, e.lives), seed)
}

func (e *electorate) begin(id, seed phalanx.NodeID) {
	e.join(id, seed)
	e.came[id], e.asked[id] = e.now, e.now
}

// watch has those that do not hear a member for long propose to remove it, once
// there are two of them, and those whose connection breaks say so.
func (e *electorate) watch() {
	for _, n := range e.nodes {
		n.suspects = nil
	}
	for _, m := range e.newest().Members {
		bad := e.node(m.ID)
		var by []*node
		for _, n := range e.members() {
			deaf := e.cut[[2]phalanx.NodeID{n.id, m.ID}] || e.cut[[2]phalanx.NodeID{m.ID, n.id}]
			if n != bad && (bad.dead || bad.hung || bad.fenced || deaf) {
				by = append(by, n)
			}
		}
		if len(by) == 0 {
			delete(e.away, m.ID)
			continue
		}
		if _, ok := e.away[m.ID]; !ok {
			e.away[m.ID] = e.now
		}
		gone := bad.dead && bad.refuses || bad.fenced
		if since := e.now - e.away[m.ID]; since < silentFor && !gone {
			continue
		}
		for i, n := range by {
			n.suspects = append(n.suspects, m.ID)
			if e.now-e.away[m.ID] < silentFor+watchEvery || gone && e.now-e.away[m.ID] < watchEvery {
				e.broken(n.id, m.ID)
			}
			if len(by) >= min(2, len(e.members())) && i < 2 {
				e.propose(n.id, RemoveMember{Node: m.ID, Dead: gone})
			}
		}
	}
}

// fault has something go wrong.
func (e *electorate) fault() {
	of := e.members()
	if len(of) == 0 {
		return
	}
	any := of[e.fate.Intn(len(of))]
	if v := e.newest(); e.fate.Intn(2) == 0 { // most interesting are voters, and the leader most of all
		if n := e.node(v.Voters[e.fate.Intn(len(v.Voters))]); n != nil && slices.Contains(of, n) {
			any = n
		}
	}
	e.struck = e.now
	for id, at := range e.begun { // what goes wrong just after a change was begun may hold it up until more goes wrong
		if e.now-at < 100*time.Millisecond {
			e.begun[id] = e.now + time.Hour
		}
	}
	switch k := e.fate.Intn(12); k {
	case 0, 1:
		e.crash(any, "crash")
	case 2, 3:
		e.doomed = true
		e.newcomer()
	case 4, 5:
		e.hang(any)
	case 6:
		e.newcomer()
	case 7:
		e.met["leave"]++
		e.propose(any.id, Leaving{Node: any.id})
		if e.fate.Intn(2) == 0 {
			e.pass(time.Duration(e.fate.Intn(300)) * time.Millisecond)
		}
		if !any.dead {
			e.propose(any.id, RemoveMember{Node: any.id})
		}
	case 8: // wrongly
		e.met["slander"]++
		e.propose(of[e.fate.Intn(len(of))].id, RemoveMember{Node: any.id})
	default:
		e.cutOff(any)
	}
}

func (e *electorate) hang(n *node) {
	e.met["hang"]++
	n.hung, n.hungAt = true, e.now
	e.mends = append(e.mends, mend{e.now + time.Duration(e.fate.Intn(1500))*time.Millisecond, func() { e.resume(n) }})
}

// cutOff cuts links of a node, one or all, in one direction or both.
func (e *electorate) cutOff(n *node) {
	e.met["cut"]++
	others := slices.DeleteFunc(slices.Clone(e.nodes), func(o *node) bool { return o == n })
	if e.fate.Intn(2) == 0 && len(others) > 0 {
		others = []*node{others[e.fate.Intn(len(others))]}
	}
	way := e.fate.Intn(3)
	var cuts [][2]phalanx.NodeID
	for _, o := range others {
		if way != 0 {
			cuts = append(cuts, [2]phalanx.NodeID{n.id, o.id})
		}
		if way != 1 {
			cuts = append(cuts, [2]phalanx.NodeID{o.id, n.id})
		}
	}
	for _, c := range cuts {
		e.cut[c] = true
	}
	e.mends = append(e.mends, mend{e.now + time.Duration(e.fate.Intn(1500))*time.Millisecond, func() {
		for _, c := range cuts {
			delete(e.cut, c)
		}
	}})
}

// crash ends a process, unless no majority of the voters would be left.
func (e *electorate) crash(n *node, what string) bool {
	if !e.decidableWithout(n) {
		return false
	}
	n.dead = true
	e.met[what]++
	n.refuses = e.fate.Intn(3) > 0
	name := n.id.Name()
	if e.fate.Intn(4) > 0 {
		e.mends = append(e.mends, mend{e.now + time.Duration(e.fate.Intn(2000))*time.Millisecond, func() {
			n.refuses = true
			if of := e.members(); len(of) > 0 {
				e.met["restart"]++
				e.born(name, of[e.fate.Intn(len(of))].id)
			}
		}})
	}
	return true
}

// decidableWithout reports whether a majority of the voters is left without n: of those
// that the view names, of those that were decided last, and of those to which a leader has just begun to change. A
// change that cannot be decided soon must not have been begun.
func (e *electorate) decidableWithout(n *node) bool {
	halves := slices.Clone(e.decided)
	halves = append(halves, ids(e.newest().Voters))
	for _, o := range e.live() {
		if to := o.changes(); to != nil && e.now-e.begun[o.id] < 100*time.Millisecond {
			halves = append(halves, ids(to))
		}
		short := o.hung && e.now-o.hungAt < o.cfg.VoterEvery+o.cfg.HeartbeatEvery // o cannot tell what it hears afterwards from what is new
		if o.lead != nil && (short || e.now-e.spoke[n.id] < 5*time.Millisecond) { // what n has just said may bring the change about
			halves = append(halves, ids(o.lead.wanted))
		}
	}
	for _, half := range halves {
		left := 0
		for _, o := range e.live() {
			if o != n && slices.Contains(half, o.Core.id) {
				left++
			}
		}
		if len(half) > 0 && left <= len(half)/2 {
			return false
		}
	}
	return true
}

// changes returns the voters to which the log of n changes, but not yet n itself.
func (n *node) changes() []phalanx.NodeID {
	if n.voter == nil || n.voter.applied >= n.voter.last() {
		return nil
	}
	lead := n.lead
	n.lead = nil
	to, _ := n.Changing(n.now)
	n.lead = lead
	return to
}

func ids(nodes []phalanx.NodeID) (all []uint64) {
	for _, id := range nodes {
		all = append(all, raftID(id))
	}
	return all
}

// after checks what must always hold, and strikes a leader that was doomed.
func (e *electorate) after(n *node, ev Event, out []Effect) {
	e.in.after(n, ev, out)
	if v := n.voter; v != nil && v.applied > e.applied {
		e.applied, e.decided = v.applied, [][]uint64{v.conf.GetVoters(), v.conf.GetVotersOutgoing()}
	}
	if n.changes() == nil {
		delete(e.begun, n.id)
	} else if _, ok := e.begun[n.id]; !ok {
		if e.begun[n.id] = e.now; e.now-e.struck < 10*time.Millisecond { // or just before
			e.begun[n.id] += time.Hour
		}
	}
	for _, effect := range out {
		switch effect := effect.(type) {
		case Send, SendBeat:
			e.spoke[n.id] = e.now
		case Majority:
			if effect.Lost {
				e.met["majority lost"]++
			}
		}
	}
	if !e.doomed || n.lead == nil {
		return
	}
	for _, effect := range out {
		if p, ok := effect.(Publish); ok && len(p.View.Members) > 2 && !slices.Equal(e.in.elected[p.View.Number], e.in.elected[p.View.Number-1]) &&
			e.crash(n, "crash of a leader that publishes other voters") {
			e.doomed = false
			if e.fate.Intn(2) == 0 {
				e.lose(n.id)
			}
			return
		}
	}
}

// unsettled says what is not as it should be some time after the last fault.
func (e *electorate) unsettled() string {
	v, leaders := e.newest(), 0
	for _, n := range e.live() {
		switch {
		case !v.Has(n.id):
			return fmt.Sprintf("%s is not in %v", n.id, v)
		case n.View().Number != v.Number:
			return fmt.Sprintf("%s has %v, and not %v", n.id, n.View(), v)
		case n.lease <= e.now+n.skew:
			return fmt.Sprintf("%s has no lease", n.id)
		case n.alarm.Lost:
			return fmt.Sprintf("%s says: %v", n.id, n.alarm.Majority)
		case n.lead != nil:
			leaders++
			if !n.Settled() {
				return fmt.Sprintf("%s has something to decide", n.id)
			}
		}
	}
	if leaders != 1 {
		return fmt.Sprintf("%d members lead", leaders)
	}
	staying := 0
	for _, m := range v.Members {
		if n := e.node(m.ID); n.dead || n.fenced {
			return fmt.Sprintf("%s does not live, and is in %v", m.ID, v)
		}
		if !m.Leaving {
			staying++
		}
	}
	if len(v.Voters) != votersOf(staying) {
		return fmt.Sprintf("not enough voters: %v", v)
	}
	return ""
}
