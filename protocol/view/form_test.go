package view

import (
	"flag"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

var (
	formSeedFlag = flag.Int64("view.formseed", 0, "run only this seed of TestFormingAnew")
	formSeeds    = flag.Int64("view.formseeds", 300, "how many seeds TestFormingAnew runs")
)

// TestFormingAnew has most of the voters die, hang or be cut off, and one or two of the
// others form the cluster anew, while voters come back at any time and the network loses,
// repeats and reorders. After every step it checks what form.go promises, and in the end
// that all that live agree.
func TestFormingAnew(t *testing.T) {
	first, last := int64(1), *formSeeds
	if testing.Short() {
		last = min(last, 60)
	}
	if *formSeedFlag != 0 {
		first, last = *formSeedFlag, *formSeedFlag
	}
	var all formTally
	for seed := first; seed <= last; seed++ {
		all.add(formAtRandom(t, seed))
		if t.Failed() {
			t.Fatalf("to see it again: go test ./protocol/view -run TestFormingAnew -view.formseed %d", seed)
		}
	}
	t.Logf("%+v", all)
	if *formSeedFlag == 0 && (all.Formed < all.Runs/4 || all.Twice == 0 && !testing.Short() || all.Refused == 0 || all.Fenced == 0 || all.Resumed == 0 || all.Old == 0) {
		t.Errorf("too little happened to say anything: %+v", all)
	}
}

type formTally struct {
	Runs, Formed, Refused, Fenced, Resumed int
	Twice                                  int // runs with more than one form
	Old                                    int // leases of an earlier form while there was a later one
}

func (a *formTally) add(b formTally) {
	a.Runs += b.Runs
	a.Formed += b.Formed
	a.Refused += b.Refused
	a.Fenced += b.Fenced
	a.Resumed += b.Resumed
	a.Twice += b.Twice
	a.Old += b.Old
}

// formWorld is a cluster whose nodes suspect those that they do not reach.
type formWorld struct {
	*network
	t        *testing.T
	seed     int64
	rng      *rand.Rand
	count    formTally
	views    map[uint64]string
	leaders  map[[2]uint64]phalanx.NodeID // by form and term
	forms    map[Form]bool
	latest   Form
	had      map[phalanx.NodeID]View
	leases   map[phalanx.NodeID]time.Duration // before the step
	born     int
	lives    uint64
	promised map[phalanx.NodeID]promise
	in       map[phalanx.NodeID]Form // the form in which it has promised that
}

func newFormWorld(t *testing.T, seed int64, nodes int) *formWorld {
	rng := rand.New(rand.NewSource(seed))
	w := &formWorld{network: newNetwork(Config{Shards: 1 + rng.Intn(6), CompactEvery: 4 + rng.Intn(20)}), t: t, seed: seed, rng: rng, count: formTally{Runs: 1},
		views: map[uint64]string{}, leaders: map[[2]uint64]phalanx.NodeID{}, forms: map[Form]bool{}, had: map[phalanx.NodeID]View{}, leases: map[phalanx.NodeID]time.Duration{}, promised: map[phalanx.NodeID]promise{}, in: map[phalanx.NodeID]Form{}}
	w.network.rng, w.drop, w.dup, w.sync = rng, 0.03, 0.03, true
	w.onStep = w.after
	w.boot("n0#1")
	for i := 1; i < nodes; i++ {
		w.join(phalanx.NodeID(fmt.Sprintf("n%d#1", i)), "n0#1")
	}
	w.born, w.lives, w.byName = nodes, 1, true
	w.run(3 * time.Second)
	return w
}

func (w *formWorld) fail(format string, args ...any) {
	w.t.Errorf("seed %d at %v: %s", w.seed, w.now, fmt.Sprintf(format, args...))
}

// after checks a step.
var formTrace func(w *formWorld, n *node, ev Event, out []Effect)

func (w *formWorld) after(n *node, ev Event, out []Effect) {
	if formTrace != nil {
		formTrace(w, n, ev, out)
	}
	now := w.now + n.skew
	for _, e := range out {
		switch e := e.(type) {
		case Publish:
			w.published(n, e.View)
		case Lead:
			key := [2]uint64{uint64(n.View().Form()), e.Term}
			if e.Leader == n.id {
				if was := w.leaders[key]; was != "" && was != n.id {
					w.fail("%s and %s lead term %d of form %d", was, n.id, e.Term, key[0])
				}
				w.leaders[key] = n.id
			}
		case Lease:
			if now < n.promise.until {
				w.fail("%s has promised to halt, and has a lease", n.id)
			}
			if r, ok := ev.(HearReply); ok && formOf(r.Reply.View) != n.View().Form() {
				w.fail("%s has a lease of form %d, and is in form %d", n.id, formOf(r.Reply.View), n.View().Form())
			}
			if n.View().Form() < w.latest {
				w.count.Old++
			}
		case Formed:
			w.count.Formed++
			if f := e.View.Form(); w.forms[f] {
				w.fail("%s forms %d, which was formed before", n.id, f)
			}
			w.formed(n, w.had[n.id], e.View)
			w.forms[e.View.Form()] = true
			w.latest = max(w.latest, e.View.Form())
		case NotFormed:
			w.count.Refused++
		case SendHalted:
			if e.Halted.Why == Halts {
				w.halts(n, e.To, e.Halted.Form)
			}
		case Fenced:
			w.count.Fenced++
		case Send:
			if _, received := ev.(Receive); now < n.promise.until && (received || strings.HasPrefix(Describe(e.Data), "Vote ")) {
				w.fail("%s has promised to halt, and sends %v", n.id, e)
			}
		}
	}
	w.leases[n.id] = n.lease
	if h, ok := ev.(HearHalt); ok && h.Halt.Release && w.promised[n.id].to == h.From {
		w.promised[n.id] = promise{form: w.promised[n.id].form}
	}
	if n.lease > now && n.alarm.Lost {
		w.fail("%s has a lease, and takes the majority for lost", n.id)
	}
}

// halts checks that n may promise to halt.
func (w *formWorld) halts(n *node, by phalanx.NodeID, form Form) {
	now, was := w.now+n.skew, w.promised[n.id]
	switch {
	case n.lease > now:
		w.fail("%s halts for %s, and has a lease for %v", n.id, by, n.lease-now)
	case now < was.until && was.to != by && n.View().Form() == w.in[n.id]:
		w.fail("%s halts for %s, and has promised that to %s until %v", n.id, by, was.to, was.until)
	case form <= n.View().Form() || form < was.form:
		w.fail("%s halts for form %d, and knows of %d and %d", n.id, form, n.View().Form(), was.form)
	}
	w.promised[n.id], w.in[n.id] = promise{to: by, form: form, until: now + haltFor}, n.View().Form()
}

// formed checks the first view of a form, which n has made of base.
func (w *formWorld) formed(n *node, base, v View) {
	if !v.Form().forced() && 2*len(v.Members) <= len(base.Members) {
		w.fail("%s formed %v of %v without force", n.id, v, base)
	}
	voters := 0
	for _, id := range base.Voters {
		if v.Has(id) {
			voters++
		}
	}
	_, quorums := n.Quorums()
	if known := len(quorums) > 0; 2*voters >= len(base.Voters) && known { // no majority of the others
		for _, other := range w.live() {
			if left := other.lease - (w.now + other.skew); left > 0 && !other.hung && other.View().Form() == base.Form() {
				w.fail("%s formed %s, and %s has a lease of %s for %v", n.id, Numbered(v.Number), other.id, Numbered(other.View().Number), left)
			}
		}
	}
	for i, s := range v.Shards {
		was := base.Shards[i]
		kept := was.has(s.Owner)
		if lost := s.LostAt == s.Epoch; lost == (v.Has(was.Owner) || was.Backup != "" && v.Has(was.Backup)) || kept == lost {
			w.fail("shard %d goes from %v to %v in form %d", i, was, s, v.Form())
		}
	}
}

func (w *formWorld) published(n *node, v View) {
	text := string(EncodeView(v))
	if was, ok := w.views[v.Number]; ok && was != text {
		w.fail("%s published another view %s: %s, not %s", n.id, Numbered(v.Number), text, was)
	}
	w.views[v.Number] = text
	had := w.had[n.id]
	if had.Number >= v.Number {
		w.fail("%s published view %s after %s", n.id, Numbered(v.Number), Numbered(had.Number))
	}
	if had.Form() < v.Form() && v.Has(n.id) {
		if w.leases[n.id] > w.now+n.skew {
			w.fail("%s enters %s with a lease of an earlier form", n.id, Numbered(v.Number))
		}
		for i, s := range v.Shards {
			if i < len(had.Shards) && s.Epoch < had.Shards[i].Epoch+formEpochs/2 { // it may have had a view of which nobody else knew in time
				w.fail("shard %d goes from %v to %v in a later form", i, had.Shards[i], s)
			}
		}
	}
	w.had[n.id] = v
}

// rejoin has nodes that were fenced join again as another incarnation.
func (w *formWorld) rejoin() {
	for _, n := range slices.Clone(w.nodes) {
		if !n.fenced || n.retired || n.dead || n.hung {
			continue
		}
		for _, m := range n.View().Members {
			if seed := w.node(m.ID); seed != n && !seed.dead && !seed.hung && !seed.fenced && !w.cut[[2]phalanx.NodeID{n.id, m.ID}] {
				w.lives++
				id := phalanx.MakeNodeID(n.id.Name(), w.lives)
				for pair := range w.cut {
					for i := range pair {
						if other := pair; other[i] == n.id {
							other[i] = id
							w.cut[other] = w.cut[pair]
						}
					}
				}
				n.retired = true
				w.join(id, m.ID)
				break
			}
		}
	}
}

// detect has each node suspect those that it does not reach.
func (w *formWorld) detect() {
	for _, n := range w.nodes {
		n.suspects = nil
		for _, m := range w.nodes {
			if m != n && (m.dead || m.hung || m.fenced || w.cut[[2]phalanx.NodeID{n.id, m.id}] || w.cut[[2]phalanx.NodeID{m.id, n.id}]) {
				n.suspects = append(n.suspects, m.id)
			}
		}
	}
}

// lose has most of the voters, and perhaps others, die, hang or be cut off.
func (w *formWorld) loseMost() {
	v := w.newest()
	voters := slices.Clone(v.Voters)
	w.rng.Shuffle(len(voters), func(i, j int) { voters[i], voters[j] = voters[j], voters[i] })
	gone := voters[:len(voters)/2+1+w.rng.Intn(len(voters)-len(voters)/2)]
	for _, m := range v.Members {
		if !slices.Contains(voters, m.ID) && w.rng.Intn(6) == 0 {
			gone = append(gone, m.ID)
		}
	}
	how := w.rng.Intn(4)
	for _, id := range gone {
		n, kind := w.node(id), how
		if how == 3 {
			kind = w.rng.Intn(3)
		}
		switch kind {
		case 0:
			n.dead = true
		case 1:
			n.hung = true
		case 2:
			for _, other := range w.nodes {
				if !slices.Contains(gone, other.id) {
					w.cut[[2]phalanx.NodeID{id, other.id}], w.cut[[2]phalanx.NodeID{other.id, id}] = true, true
				}
			}
		}
	}
	w.detect()
}

// runFor runs, and lets nodes suspect what they should in between.
func (w *formWorld) runFor(d time.Duration) {
	for end := w.now + d; w.now < end; {
		w.network.run(min(100*time.Millisecond, end-w.now))
		w.rejoin()
		w.detect()
	}
}

// awake returns the nodes that could be told something.
func (w *formWorld) awake() []*node {
	return slices.DeleteFunc(w.live(), func(n *node) bool { return n.hung || !n.member })
}

func (w *formWorld) tell(force bool) {
	if all := w.awake(); len(all) > 0 {
		n := all[w.rng.Intn(len(all))]
		w.step(n, func(now time.Duration) Event { return Recover{Force: force, Now: now} })
	}
}

// comeBack has some that hang go on, and some links mended.
func (w *formWorld) comeBack(all bool) {
	for _, n := range w.nodes {
		if n.hung && !n.dead && (all || w.rng.Intn(2) == 0) {
			w.count.Resumed++
			w.resume(n)
		}
	}
	if all || w.rng.Intn(3) == 0 {
		clear(w.cut)
	}
	w.detect()
}

func formAtRandom(t *testing.T, seed int64) formTally {
	w := newFormWorld(t, seed, 3+rand.New(rand.NewSource(seed)).Intn(7))
	w.loseMost()
	w.runFor(time.Duration(w.rng.Intn(2500)) * time.Millisecond)
	for range 2 + w.rng.Intn(4) {
		switch w.rng.Intn(6) {
		case 0:
			w.tell(w.rng.Intn(3) == 0)
			w.tell(w.rng.Intn(3) == 0)
		case 1, 2:
			w.tell(w.rng.Intn(3) == 0)
		case 3:
			w.comeBack(false)
		case 4:
			if all := w.awake(); len(all) > 0 {
				w.join(phalanx.NodeID(fmt.Sprintf("n%d#1", w.born)), all[w.rng.Intn(len(all))].id)
				w.born++
			}
		case 5:
			if len(w.awake()) > 2 && w.rng.Intn(3) == 0 {
				w.loseMost()
			}
		}
		w.runFor(time.Duration(w.rng.Intn(3000)) * time.Millisecond)
		if t.Failed() {
			return w.count
		}
	}
	w.settleAll()
	if len(w.forms) > 1 {
		w.count.Twice++
	}
	return w.count
}

// settleAll ends the faults, has whoever can form the cluster if it is still needed, and
// checks that all that live agree.
func (w *formWorld) settleAll() {
	w.drop, w.dup = 0, 0
	w.comeBack(true)
	w.runFor(11 * time.Second) // promises end
	for range 5 {
		lost := slices.ContainsFunc(w.awake(), func(n *node) bool { return n.alarm.Lost })
		if !lost {
			break
		}
		w.tell(true)
		w.runFor(4 * time.Second)
	}
	for range 8 {
		w.runFor(400 * time.Millisecond)
		tellDead(w.network)
	}
	w.runFor(5 * time.Second)
	all := w.awake()
	if len(all) == 0 {
		return
	}
	v, leaders := w.newest(), 0
	for _, n := range all {
		if n.lead != nil {
			leaders++
		}
		switch {
		case n.View().Number != v.Number:
			w.fail("%s has view %s, the newest is %s", n.id, Numbered(n.View().Number), Numbered(v.Number))
		case n.lease <= w.now+n.skew:
			w.fail("%s has no lease", n.id)
		case n.alarm.Lost:
			w.fail("%s takes the majority for lost", n.id)
		}
	}
	if leaders != 1 {
		w.fail("%d nodes lead", leaders)
	}
	if len(v.Voters) != votersOf(len(v.Members)) {
		w.fail("%d voters of %d members: %v", len(v.Voters), len(v.Members), w.node(v.Voters[0]))
	}
	for i, s := range v.Shards {
		if first, second := wanted(v.Members, i); s.Owner != first || s.Backup != second || s.Next != "" {
			w.fail("shard %d is %v, wanted are %s and %s", i, s, first, second)
		}
	}
	for _, m := range v.Members {
		if n := w.node(m.ID); n.dead || n.fenced {
			w.fail("%s is a member, dead %v, fenced %v", m.ID, n.dead, n.fenced)
		}
	}
}
