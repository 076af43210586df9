package sim

import (
	"fmt"
	"io"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// Config determines a run, and says where its trace goes.
type Config struct {
	Seed  uint64
	Only  []int     // the numbers of the actions to do; nil: all
	Calm  bool      // the network only delays
	Trace io.Writer // nil: nowhere

	Services []Kind // the services of the nodes beside the store
	Alone    bool   // no caller uses the store: the only service shapes the run
}

// Result is the outcome of a run.
type Result struct {
	Seed    uint64
	Steps   int
	Time    time.Duration  // simulated
	Hash    uint64         // of the trace
	Met     map[string]int // how often the run met each kind of event, fault and rare path
	Actions []int          // the numbers of the actions done
	Script  []string       // the effects of these actions, and the shape of the run
	Err     error          // the broken invariant, or nil
}

// world is one run.
type world struct {
	seed    uint64
	rng     *rand.Rand // of the network
	fate    *rand.Rand // of the schedule
	lag     *rand.Rand // of slow actors
	now     time.Duration
	seq     uint64
	queue   queue
	weather weather
	shape   shape

	giveUpAfter time.Duration // the time after which nodes give up commands to the view; 0: as in the node
	badOp       *badOp        // nil: no op fails
	changed     []*copied     // the copies that have changed in memory

	hosts  []*host
	cut    map[[2]*host]int // ways that nothing takes
	deaf   map[[2]*host]int // the pairs whose second does not get the first's heartbeats
	walls  map[[2]*host]int // the pairs between which a firewall refuses connections where the link is cut
	nodes  []*node          // every life, in the order in which they began
	byID   map[phalanx.NodeID]*node
	oracle *oracle
	audit  *audit
	leases map[leaseKey]bool // all leases that owners have granted

	script   []*line
	doing    *line
	paired   bool          // owner and backup of a shard were struck at once
	busy     bool          // a fault is under way
	mends    []func()      // end the faults
	calmed   bool          // no more faults come
	together bool          // all nodes leave, and none crashes meanwhile
	parting  bool          // all nodes leave: no process comes back
	lost     bool          // a majority of the voters died
	anew     anew          // the outcome of forming the cluster anew
	deaths   int           // of processes and machines, with everything that they had
	quiet    time.Duration // since when the cluster is at rest
	listens  bool          // a message that is sent now may be one too many

	alone    bool
	durable  bool          // a service has disks: a cluster that has ended is begun anew
	every    time.Duration // nodes look at their timers so often
	services []*World
	features []string // names of the services
	planned  int      // actions still to do

	reduced map[phalanx.ObjectID]reduce.Config // the last request that has made each target
	calls   []*call
	callSeq uint64
	open    int // calls that have not ended
	ended   int // lives

	met   map[string]int
	trace trace
	steps int
}

// violation is the panic of a broken invariant.
type violation struct{ text string }

func (w *world) fail(format string, args ...any) { panic(violation{fmt.Sprintf(format, args...)}) }

func (w *world) sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// mostSteps is more than any run needs that makes progress.
const mostSteps = 2_000_000

// step notes that something has happened at n.
func (w *world) step(n *node, what string) {
	if w.steps++; w.steps > mostSteps {
		w.fail("(22) the run has not ended after %d steps%s", w.steps, w.waiting())
	}
	w.trace.add(uint64(w.now))
	w.trace.text(string(n.id))
	w.trace.text(what)
	w.trace.add(n.client.core.Asked()<<40 | uint64(n.table.Len())<<20 | uint64(n.memory.used()))
	if n.memory.cap > 0 && n.memory.used() > n.memory.cap {
		w.fail("%s has %d bytes reserved under a cap of %d", n.id, n.memory.used(), n.memory.cap)
	}
}

// cycle checks a cycle among upstreams. Leases that receivers report to a new owner can close a
// cycle; the path in WAIT breaks it.
func (w *world) cycle(n *node, id phalanx.ObjectID, p directory.Picture) {
	if w.met["shard moved"] == 0 {
		w.fail("(5) %s has a cycle of %s: %+v", n.id, id, p)
	}
	w.met["cycle after a move"]++
}

// newWorld returns a world without machines.
func newWorld(cfg Config) *world {
	w := &world{seed: cfg.Seed, alone: cfg.Alone, every: tickEvery, rng: rand.New(rand.NewPCG(cfg.Seed, 0x9e3779b97f4a7c15)), fate: rand.New(rand.NewPCG(cfg.Seed, 0xda942042e4dd58b5)), lag: rand.New(rand.NewPCG(cfg.Seed, 0x1b873593cc9e2d51)),
		cut: map[[2]*host]int{}, deaf: map[[2]*host]int{}, walls: map[[2]*host]int{}, byID: map[phalanx.NodeID]*node{},
		reduced: map[phalanx.ObjectID]reduce.Config{}, leases: map[leaseKey]bool{}, met: map[string]int{}, trace: trace{hash: 14695981039346656037, out: cfg.Trace}}
	w.oracle = &oracle{w: w, objects: map[phalanx.ObjectID]*model{}}
	w.audit = newAudit(w)
	return w
}

// Run simulates one cluster from a seed to its end.
func Run(cfg Config) (res Result) {
	w := newWorld(cfg)
	defer func() {
		res = Result{Seed: cfg.Seed, Steps: w.steps, Time: w.now, Hash: w.trace.hash, Met: w.met, Script: w.lines()}
		for _, l := range w.script {
			res.Actions = append(res.Actions, l.number)
		}
		switch r := recover().(type) {
		case nil:
		case violation:
			res.Err = fmt.Errorf("at %v, step %d: %s", w.now, w.steps, r.text)
		default:
			res.Err = fmt.Errorf("at %v, step %d: panic: %v\n%s", w.now, w.steps, r, debug.Stack())
		}
	}()
	w.shape = someShape(w.fate)
	bad := someWeather(w.fate)
	if w.alone {
		w.every = aloneEvery
		w.shape, bad = cfg.Services[0].shape(cfg.Seed)
	}
	if slices.ContainsFunc(cfg.Services, func(k Kind) bool { return k.Durable }) && !w.alone {
		w.shape.faults = min(w.shape.faults, bounded) // a cluster that is begun anew knows no object of the one before
	}
	w.shape.over = max(w.shape.over, w.shape.length/2)
	if len(cfg.Services) > 0 && w.shape.faults == bounded && !w.alone {
		w.shape.length += w.shape.length / 4 // faults come one after the other
	}
	w.newServices(cfg.Services)
	w.met["run: "+w.shape.faults.String()]++
	w.giveUpAfter = someGiveUp(cfg.Seed)
	w.badOp = someBadOp(cfg.Seed, w.shape)
	w.trace.say(0, "", "seed %d: %+v", w.seed, w.shape)
	if cfg.Calm {
		bad = calm
	}
	plan := w.plan()
	w.begin()
	w.weather = bad
	w.trace.say(w.now, "", "weather %+v", w.weather)
	w.schedule(plan, cfg.Only)
	w.until(w.now+w.shape.length, func() bool { return false })
	w.calm()
	w.finish()
	return res
}

// lines returns the script of the run.
func (w *world) lines() []string {
	out := []string{fmt.Sprintf("shape %+v", w.shape)}
	for _, l := range w.script {
		out = append(out, l.String())
	}
	return out
}

// calm ends all faults, and lets the machines go on that a bounded run needs.
func (w *world) calm() {
	w.calmed = true
	w.weather = calm
	for _, end := range w.mends {
		end()
	}
	for _, h := range w.hosts {
		if h.life == nil && (h.off || w.running() < 3) && w.fate.IntN(2) == 0 || w.durable {
			h.restart()
		}
	}
	w.trace.say(w.now, "", "calm")
}

// begin starts the first nodes and waits until each is a member.
func (w *world) begin() {
	w.weather = calm
	w.newHost().begin(nil, nil)
	for range w.shape.nodes - 1 {
		w.until(w.now+w.draw(50*time.Millisecond), func() bool { return false })
		w.newHost().begin(nil, nil)
	}
	w.must(10*time.Second, "the first nodes are members", w.members)
}

// members reports whether the view has exactly the live nodes.
func (w *world) members() bool {
	alive := w.alive()
	for _, n := range alive {
		if !n.view.Has(n.id) || len(n.view.Members) != len(alive) {
			return false
		}
	}
	return len(alive) > 0
}

// until lets time pass until then, or until done.
func (w *world) until(then time.Duration, done func() bool) bool {
	for n := 0; len(w.queue) > 0 && w.queue[0].at <= then; n++ {
		if n%16 == 0 && done() {
			return true
		}
		it := w.queue.pop()
		w.now = it.at
		it.do()
	}
	w.now = max(w.now, then)
	return done()
}

func (w *world) must(within time.Duration, what string, done func() bool) {
	if !w.until(w.now+within, done) {
		w.fail("(18, 19, 22) within %v after the faults stopped the cluster does not reach this state: %s%s", within, what, w.waiting())
	}
}

// waiting describes the open calls and their reasons to wait.
func (w *world) waiting() string {
	s := "; " + w.missing()
	for _, n := range w.alive() {
		if !n.view.Has(n.id) || len(n.view.Members) != w.running() {
			s += fmt.Sprintf("; %s has %v: %v", n.id, n.view, n.core)
		}
	}
	for _, c := range w.calls {
		if c.ended {
			continue
		}
		s += fmt.Sprintf("; call %d, %s of %s at %s", c.id, c.kind, c.object, c.node.id)
		if f := c.node.fetches[c.object]; f != nil && (c.kind == "get" || c.kind == "copy") {
			node, why := f.core.Reason()
			s += fmt.Sprintf(" (%s %s)", node, why)
		}
	}
	return s
}

// finish checks that every call that can end does, reads every object everywhere, deletes
// everything, and looks for leftovers.
func (w *world) finish() {
	w.until(w.now+settled, func() bool { return w.planned == 0 })
	if what := w.heal(); what != "" {
		w.lost = w.lost || w.shape.faults == crowded && !w.durable && !w.decidable() // late messages of dead nodes may have changed the voters
		if w.lost {
			w.met["majority of the voters lost"]++
			if w.alone {
				return
			}
			w.unavailable()
			if !w.formAnew() {
				w.leaveAll()
				return
			}
			what = w.heal()
		}
		if what != "" {
			w.fail("(18, 19, 21, 22) within %v after the faults stopped the cluster does not reach this state: %s%s", settled, what, w.waiting())
		}
	}
	if w.alone {
		w.servicesEnd()
		w.silence()
		return
	}
	w.linkFails()
	w.unheard()
	w.putAgain()
	w.must(settled, "every call that can end has ended", w.allEnded)
	var phantom string
	if !w.until(w.now+settled, func() bool { phantom = w.audit.phantom(); return phantom == "" }) {
		w.fail("(24) %s", phantom)
	}
	if w.shape.cap == 0 {
		w.readAll()
		w.rebuilt()
	}
	w.servicesEnd()
	w.leaveAll()
	if w.shape.cap == 0 { // with a cap a node may find no room for an ordered copy
		w.silence()
	}
	w.must(settled, "callers have deleted every object", w.deleteAll())
	var left string
	if !w.until(w.now+settled, func() (ok bool) { left, ok = w.audit.nothingLeft(); return ok }) {
		w.fail("(23) %s", left)
	}
	w.silence()
	w.allLeave()
}

// deleteAll begins a Delete of every object, and returns a function that reports whether all have
// ended. It repeats a Delete elsewhere if the node has left, and after a Put that overtook the
// Delete.
func (w *world) deleteAll() func() bool {
	calls := map[phalanx.ObjectID]*call{}
	return func() bool {
		for _, id := range w.objects() {
			c, m := calls[id], w.oracle.model(id)
			again := c != nil && c.ended && m.state != directory.Unbound && m.state != directory.Deleted
			if c == nil || again || c.err != nil && c.err.Kind == phalanx.ErrClosed {
				calls[id] = w.delete(w.joined(w.fate), id)
			}
		}
		return w.open == 0
	}
}

// atRest reports whether the cluster has been at rest for a second.
func (w *world) atRest() bool {
	if w.missing() != "" {
		w.quiet = w.now
	}
	return w.now-w.quiet >= time.Second
}

// heal waits until the cluster is at rest, and returns the condition that it does not reach, or "".
func (w *world) heal() string {
	if !w.allMembers() {
		return "all are members"
	}
	if w.shape.cap == 0 {
		if !w.until(w.now+settled, func() bool { return !w.someLeave() }) {
			return "all leaving nodes have left"
		}
		if !w.allMembers() { // the last member may have left
			return "all are members"
		}
	}
	w.quiet = w.now
	if !w.until(w.now+settled, w.atRest) {
		return "the cluster is at rest"
	}
	return ""
}

// allMembers waits until all nodes are members. An operator may have to help.
func (w *world) allMembers() bool {
	return w.until(w.now+settled, w.members) || w.restartStranded() && w.until(w.now+settled, w.members)
}

// restartStranded has an operator restart nodes that were removed while cut off, and that know
// nobody any more: all members of the last view that they heard of have left or died. It reports
// whether there were any.
func (w *world) restartStranded() bool {
	any := false
	for _, n := range w.alive() {
		knows := slices.ContainsFunc(n.view.Members, func(m view.Member) bool {
			o := w.byID[m.ID]
			return o != nil && !o.over && w.audit.newest.Has(o.id)
		})
		if !w.audit.newest.Has(n.id) && !knows {
			any = true
			w.met["node that knows nobody any more is started again"]++
			n.host.crash(false)
			n.host.restart()
		}
	}
	return any
}

// noAnswer is the reason of a Get that waits for a silent owner.
const noAnswer = "its directory shard has not answered"

// unavailable checks (22) where the cluster can decide no view any more: every member finds that
// the majority is lost, and every call ends in time.
func (w *world) unavailable() {
	w.must(settled, "every member has found that the majority is lost", w.allSeeLoss)
	var gets []*call
	for _, n := range w.alive() {
		if n.member {
			gets = append(gets, w.get(n, w.objects()[0], false))
		}
	}
	w.must(2*time.Minute, "a call on each node has ended", func() bool {
		for _, c := range gets {
			if f := c.node.fetches[c.object]; !c.ended && f != nil {
				if _, why := f.core.Reason(); why == noAnswer {
					return false
				}
			}
		}
		return true
	})
}

// leaveAll ends the calls that wait for objects that no node makes.
func (w *world) leaveAll() {
	for i := 0; i < len(w.calls); i++ { // ending one call may begin another
		if c := w.calls[i]; !c.ended {
			c.leave(errorf(phalanx.ErrDeadline, c.object, "the run is over"))
		}
	}
}

// putAgain puts lost objects again with the same bytes, so that their waiting calls go on.
func (w *world) putAgain() {
	if w.shape.cap > 0 {
		return
	}
	for _, id := range w.objects() {
		m := w.oracle.model(id)
		if !m.final() || m.deleting() || w.oracle.available(id) {
			continue
		}
		w.met["lost object put again"]++
		c := w.put(w.joined(w.fate), id, putPlan{bytes: m.finals[m.gen].bytes, copies: 1, failAt: -1})
		w.must(settled, "a caller has put a lost object again", func() bool { return c.ended })
		if g := m.gen; c.err != nil && m.final() && !w.oracle.available(id) && g == m.gen && id[0] != 't' {
			w.fail("(18) put of %s, which was lost, ended: %v", id, c.err)
		}
	}
}

// allEnded reports whether every open call waits for an object that no node makes, or for room.
func (w *world) allEnded() bool {
	for _, c := range w.calls {
		if !c.ended && w.canEnd(c) {
			return false
		}
	}
	return true
}

func (w *world) canEnd(c *call) bool {
	if w.shape.cap > 0 && c.kind != "delete" {
		return false // other copies may keep all the room for ever
	}
	m := w.oracle.model(c.object)
	switch c.kind {
	case "get", "copy":
		return w.oracle.available(c.object) || m.deleted != 0
	case "reduce":
		return w.reduceCanEnd(c)
	case "put":
		return c.copies <= w.running()
	}
	return true
}

// reduceCanEnd reports whether enough sources exist, as in (19).
func (w *world) reduceCanEnd(c *call) bool {
	there := 0
	for _, id := range c.sources {
		if m := w.oracle.model(id); w.oracle.available(id) && !m.deleting() && !m.revived {
			there++
		}
	}
	return there >= c.num
}

// readAll gets every object at every node.
func (w *world) readAll() {
	var gets []*call
	for _, id := range w.objects() {
		for _, n := range w.alive() {
			gets = append(gets, w.get(n, id, false))
		}
	}
	w.must(settled, "every object can be read everywhere", func() bool {
		for _, c := range gets {
			unknown := w.oracle.model(c.object).state == directory.Unbound && !c.node.makes(c.object)
			if !c.ended && (w.canEnd(c) || unknown) {
				return false
			}
		}
		return true
	})
	for _, c := range gets {
		m := w.oracle.model(c.object)
		if c.ended && w.oracle.available(c.object) && m.deleted == 0 && !m.deleting() && c.err != nil {
			w.fail("(18) get of %s at %s, which is final, ended: %v", c.object, c.node.id, c.err)
		}
		if c.ended && m.gone != 0 && m.gone < c.began && (c.err == nil || c.err.Kind != phalanx.ErrDeleted) {
			w.fail("(12) get of %s at %s, which was deleted, ended: %v", c.object, c.node.id, c.err)
		}
	}
}
