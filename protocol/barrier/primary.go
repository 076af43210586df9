package barrier

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	repl "github.com/phalanx-go/phalanx/protocol/replica"
)

// reached takes the requests of a node's participants.
func (c *Core) reached(from phalanx.NodeID, m Reached) {
	if m.Config.None() && len(m.Requests) == 0 && !m.Watch && !m.Unwatch {
		c.takeOver(from, m.Key)
		return
	}
	if !c.ready(m.Key) || c.now >= c.leased {
		c.keep(from, m.Key, m, m.Weight())
		c.delay(from, m)
		return
	}
	r := c.replicas[m.Key]
	asks := len(m.Requests) == 0 && !m.Watch && !m.Unwatch // how it stands

	if m.Config.None() {
		if r != nil { // from withdraws entries that it does not know
			c.request(r, from, m)
		}
		return
	}
	switch {
	case r != nil:
	case asks:
		c.send(from, Answers{Key: m.Key, Term: c.terms.Term, Unknown: true, Stamp: m.Stamp})
		return
	case c.past.knows(m.Key.digest()):
		c.tooLate(from, m)
		return
	case m.leaves():
		c.nobodyInside(from, m)
		return
	default:
		if r = c.create(m); m.doubtful() {
			r.b.Doubt = true // from the start: a later primary may find it before it has made a change
		}
	}
	field, same := r.b.cfg.Equal(m.Config)
	if !asks && !same && r.b.unheld() && r.flight == nil && len(r.pending) == 0 {
		r.renew(m.Config)
		same = true
	}
	if !asks && r.b.deserted() && (!same || r.b.Cause != NotFired) {
		if r.flight != nil || len(r.pending) > 0 {
			return // it is as new when these changes are made, and is asked again
		}
		r.renew(m.Config)
		same = true
	}
	if !same {
		c.send(from, Answers{Key: m.Key, Term: c.terms.Term, Field: field, Standing: c.standing(r), Stamp: m.Stamp})
		return
	}
	if r.stamps == nil {
		r.stamps = map[phalanx.NodeID]time.Duration{}
	}
	if m.Stamp < r.stamps[from] { // a late copy: what it says of callbacks may not hold any more
		m.Watch, m.Unwatch = false, false
	}
	r.stamps[from] = max(r.stamps[from], m.Stamp)
	if asks {
		c.tellAll(r, from)
		return
	}
	c.request(r, from, m)
	c.delay(from, m)
	if m.opens() {
		c.tellAskers(r.key, r.b.cfg)
	}
}

// renew makes a new barrier of a deserted one. Withdrawn entries stay withdrawn.
func (r *replica) renew(cfg Config) {
	s := State{Now: r.b.Now, Removals: r.b.Removals, Tombs: r.b.Tombs, Anew: r.b.Anew, Watcher: r.b.Watcher, LastAsk: r.b.LastAsk}
	s.Adaptive.Level = cfg.Semaphore.Count
	for _, e := range r.b.Entrances {
		switch held := r.b.cfg.Semaphore.on(); {
		case !held && e.Phase != Withdrawn:
			continue
		case cfg.Semaphore.on():
			e.Phase = Left
		default:
			e.Phase = Withdrawn
		}
		s.Entrances = append(s.Entrances, e)
	}
	r.b = Restore(cfg, s)
	r.backups.Forget()
}

// tooLate answers participants of a barrier that has fired and is forgotten. An entry that a
// manager had registered has passed with it. A throttle does not hold late ones up any more.
func (c *Core) tooLate(from phalanx.NodeID, m Reached) {
	a := Answers{Key: m.Key, Term: c.terms.Term, Stamp: m.Stamp, Watched: !m.Unwatch} // there is nothing more to watch
	if m.Config.Semaphore.on() {
		a.Field = "Semaphore"
		c.send(from, a)
		return
	}
	late := LateFire
	if m.Config.Late == CatchUp {
		late = Behind
	}
	for _, q := range m.Requests {
		v := late
		switch {
		case q.Leave:
			v = Departed
		case q.Waits:
			v = Fire
			if c.past.join(m.Key.digest(), from, c.now) {
				c.spreadOne(m.Key)
			}
		}
		a.List = append(a.List, Answered{Entry: q.Entry, Attempt: q.Attempt, Verdict: v})
	}
	c.sendAnswers(from, a)
}

// doubtful reports whether managers that are gone may have counted one of the requests, so
// that no node knows whether a barrier without a replica has fired.
func (m *Reached) doubtful() bool {
	return !m.Config.Semaphore.on() && slices.ContainsFunc(m.Requests, func(q Request) bool { return q.Waits })
}

// doubt makes the barriers whose managers have all died.
func (c *Core) doubt(found []finding) {
	for _, g := range found {
		for _, m := range g.reached {
			if c.replicas[m.Key] == nil && m.doubtful() && !c.past.knows(m.Key.digest()) {
				c.create(m).b.Doubt = true
			}
		}
	}
}

// takeReached is reached for gathered requests: of holders of a semaphore, and of participants that
// wait for a barrier that no other node knows any more.
func (c *Core) takeReached(from phalanx.NodeID, m Reached, holders bool) {
	r := c.replicas[m.Key]
	if r == nil && (c.past.knows(m.Key.digest()) || m.leaves()) {
		return // it is answered when it asks again
	}
	if r == nil {
		r = c.create(m)
	}
	if _, same := r.b.cfg.Equal(m.Config); !same {
		return
	}
	for _, q := range m.Requests {
		if _, known := r.b.index[q.Entry]; holders && q.Holds || !holders && q.Waits && !q.Release && !known {
			r.pending = append(r.pending, r.entering(c.now, from, q))
		}
	}
}

// create makes a barrier that is new. Of its earlier generations, but for the last one, it is
// enough to know that they have fired.
func (c *Core) create(m Reached) *replica {
	// Batches of a barrier that was dropped are behind the batches of one that is made anew.
	r := &replica{key: m.Key, b: New(m.Config), began: c.now, touched: c.now}
	r.Seq, r.Primary = uint64(c.now), c.view.Self
	for _, q := range m.Requests { // it begins with the first entry
		r.base = max(r.base, q.Ago)
	}
	c.put(r)
	c.wake(r)
	for _, k := range slices.Clone(c.named[m.Key.Name]) {
		if k.Generation < m.Key.Generation && m.Key.Generation-k.Generation > 1 && c.replicas[k].b.over() {
			c.close(c.replicas[k])
		}
	}
	return r
}

// request notes the requests.
func (c *Core) request(r *replica, from phalanx.NodeID, m Reached) {
	if m.Watch {
		r.pending = append(r.pending, Op{Kind: OpWatch, Node: from})
	}
	switch {
	case m.Unwatch && r.b.Watcher == from:
		r.pending = append(r.pending, Op{Kind: OpUnwatch, Node: from})
	case m.Unwatch: // another one has taken its place
		c.send(from, Answers{Key: r.key, Term: c.terms.Term, Batch: r.batch(), Standing: c.standing(r), Stamp: m.Stamp, More: len(m.Requests) > 0})
	}
	for _, q := range m.Requests {
		op := r.entering(c.now, from, q)
		switch {
		case q.Release:
			op.Kind = OpRelease
		case q.Leave:
			op.Kind = OpLeave
		}
		r.pending = append(r.pending, op)
	}
	c.wake(r)
	c.weigh(r)
}

// entering is the change that a request asks for. Its time is that at which the entry came
// to its node, so that neither the way nor a backup that hangs makes it later.
func (r *replica) entering(now time.Duration, from phalanx.NodeID, q Request) Op {
	op := Op{Kind: OpEnter, At: r.clock(now), Entry: q.Entry, Node: from, Attempt: q.Attempt, Holds: q.Holds}
	if !r.b.cfg.Semaphore.on() {
		op.At = max(0, op.At-q.Ago)
	}
	return op
}

// reply takes a callback's answer.
func (c *Core) reply(m Reply) {
	if r := c.replicas[m.Key]; r != nil && c.ready(m.Key) {
		r.pending = append(r.pending, Op{Kind: OpVerdict, Ask: m.Ask, Yes: m.Yes, N: m.N})
		c.wake(r)
	}
}

// tellAll answers a node's participants that have an answer, and says how the
// barrier stands.
func (c *Core) tellAll(r *replica, node phalanx.NodeID) {
	a := Answers{Key: r.key, Term: c.terms.Term, Batch: r.batch(), Standing: c.standing(r), Watched: r.b.Watcher == node, Stamp: r.stamps[node], Awaits: c.lagging(r.key, lateAsks)}
	a.List = r.b.buried(node)
	for _, e := range r.b.Entrances {
		if slices.Contains(e.Nodes, node) {
			a.List = append(a.List, Answered{Entry: e.Entry, Attempt: e.Attempt, Verdict: r.b.standing(&e), Left: c.left(r, e.Entry)})
		}
	}
	c.sendAnswers(node, a)
}

// sendAnswers sends answers in as many parts as they need. Each is for itself.
func (c *Core) sendAnswers(to phalanx.NodeID, a Answers) {
	all := a.List
	for {
		n := parcel(all, c.cfg.Part, (*Answered).Weight)
		a.List, all = all[:n:n], all[n:]
		a.More = len(all) > 0
		c.send(to, a)
		if !a.More {
			return
		}
	}
}

// left is how long an entry may hold the semaphore, at least a nanosecond.
func (c *Core) left(r *replica, e Entry) time.Duration {
	i, ok := r.b.index[e]
	if !ok || r.b.cfg.Semaphore.Timeout == 0 {
		return 0
	}
	return max(1, r.b.Entrances[i].Since+r.b.cfg.Semaphore.Timeout-r.clock(c.now))
}

// standing says how a barrier stands.
func (c *Core) standing(r *replica) Standing {
	s := Standing{N: r.b.Units, Max: r.b.cfg.Max, Cause: r.b.Cause, Absent: r.b.Absent()}
	if r.b.Cause == NotFired {
		s.Absent = c.absent(r)
	}
	if n := len(s.Absent); n > MaxAbsent {
		s.Absent = append(s.Absent[:MaxAbsent:MaxAbsent], fmt.Sprintf("and %d others", n-MaxAbsent))
	}
	s.Holders = slices.Clone(r.b.Holders[:min(len(r.b.Holders), MaxAbsent)])
	if s.Inside = r.b.staying(MaxAbsent + 1); len(s.Inside) > MaxAbsent {
		s.Inside = append(s.Inside[:MaxAbsent:MaxAbsent], "and others")
	}
	return s
}

// absent names the missing expected units, or else the members from which no participant has
// entered.
func (c *Core) absent(r *replica) []string {
	if len(r.b.cfg.Expect) > 0 || r.b.cfg.Semaphore.on() || r.b.Units >= r.b.cfg.Max {
		return r.b.Absent()
	}
	var names []string
	there := r.b.State.members()
	for _, m := range c.view.Members {
		if !slices.Contains(there, m) {
			names = append(names, fmt.Sprintf("anybody on %s", m))
		}
	}
	return names
}

// serve makes the pending and due changes of the barriers whose primary this node is.
func (c *Core) serve() {
	c.tidy()
	c.leadSoon()
	c.handOver()
	c.askMembers()
	c.forgetAskers()
	c.past.age(c.now, c.cfg.Linger)
	for k, ok := c.restsDue.Take(c.now); ok; k, ok = c.restsDue.Take(c.now) {
		c.close(c.replicas[k])
	}
	c.attend()
	if c.now-c.swept > c.cfg.Linger { // a primary may have died before it said that they are not needed
		c.swept = c.now
		for _, k := range c.keys() {
			r := c.replicas[k]
			needed := c.primary(k) == c.view.Self || !r.b.over() && slices.Contains(c.managers(k), c.view.Self)
			if c.now-r.touched > 2*c.cfg.Linger && !needed {
				c.remove(k)
			}
		}
	}
}

// attend does the work that is due for the barriers whose primary this node is. It costs nothing
// for the others.
func (c *Core) attend() {
	for len(c.woken) > 0 && !c.current(c.woken[0]) {
		c.woken[0].woken = false
		c.woken = c.woken[1:]
	}
	if len(c.woken) > 0 && !c.ready(c.woken[0].key) || !c.gathering.Done() || c.now >= c.leased {
		return
	}
	for k, ok := c.replicasDue.Take(c.now); ok; k, ok = c.replicasDue.Take(c.now) {
		c.wake(c.replicas[k])
	}
	for i := 0; i < len(c.woken); i++ { // one may wake another
		r := c.woken[i]
		r.woken = false
		if !c.current(r) {
			continue
		}
		for again := true; again; {
			again = c.advance(r)
		}
		if !c.current(r) {
			continue // it was forgotten
		}
		if r.flight == nil && r.b.idle() {
			c.lie(r, c.now+c.remembers(r))
		} else if at, ok := c.dueAt(r); ok {
			c.replicasDue.Set(r.key, at)
		} else {
			c.replicasDue.Cancel(r.key)
		}
	}
	clear(c.woken)
	c.woken = c.woken[:0]
}

// dueAt returns when something is to be done of r, if nothing is heard of it until then.
func (c *Core) dueAt(r *replica) (time.Duration, bool) {
	if r.flight != nil {
		return r.backups.At(c.pauses(c.batchTrip)), true
	}
	at, ok := r.b.Due()
	return at - r.base + r.began, ok
}

// advance sends the next batch of changes to the backups, or repeats one. It
// reports whether there may be another one.
func (c *Core) advance(r *replica) bool {
	if r.flight != nil {
		if r.backups.Confirmed() { // it waited for a lease
			c.commit(r)
			return true
		}
		if c.now >= r.backups.At(c.pauses(c.batchTrip)) {
			c.replicateTo(r)
		}
		return false
	}
	if at, ok := r.b.Due(); ok && at <= r.clock(c.now) && len(r.pending) == 0 {
		r.pending = append(r.pending, Op{Kind: OpAdvance})
	}
	if len(r.pending) == 0 {
		return false
	}
	n := parcel(r.pending, c.cfg.Part, (*Op).Weight)
	r.flight, r.pending = r.pending[:n:n], r.pending[n:]
	now := max(r.b.Now, r.clock(c.now))
	for i := range r.flight {
		if op := &r.flight[i]; op.Kind != OpEnter || r.b.cfg.Semaphore.on() {
			op.At = now
		}
	}
	inOrder(r.flight)
	if !r.b.cfg.Semaphore.on() && r.flight[n-1].Kind != OpAdvance && len(r.pending) == 0 { // all are there before a knee is looked for
		r.flight = append(r.flight, Op{Kind: OpAdvance, At: now})
	}
	r.backups.Begin(c.now, r.next(c.terms.Term), c.managers(r.key)[1:])
	if r.backups.Confirmed() {
		c.commit(r)
		return true
	}
	c.replicateTo(r)
	return false
}

// inOrder sorts the entries that are let in one after the other by their arrival.
func inOrder(ops []Op) {
	for len(ops) > 0 {
		n := slices.IndexFunc(ops, func(op Op) bool { return op.Kind != OpEnter })
		if n < 0 {
			n = len(ops)
		}
		slices.SortStableFunc(ops[:n], func(a, b Op) int { return cmp.Compare(a.At, b.At) })
		ops = ops[min(n+1, len(ops)):]
	}
}

// commit makes the changes that all replicas have, and acts on them.
func (c *Core) commit(r *replica) {
	ops := r.flight
	r.flight = nil
	r.Copy, r.touched = repl.Copy{Version: r.next(c.terms.Term), Primary: c.view.Self}, c.now
	r.made++
	answers := map[phalanx.NodeID]*Answers{}
	var order []phalanx.NodeID
	answer := func(n phalanx.NodeID) *Answers {
		if answers[n] == nil {
			answers[n] = &Answers{Key: r.key, Term: c.terms.Term, Batch: r.batch()}
			order = append(order, n)
		}
		return answers[n]
	}
	var asked []Asked
	for _, op := range ops {
		if op.Kind == OpWatch || op.Kind == OpUnwatch {
			answer(op.Node)
		}
		for _, e := range r.b.Apply(op) {
			switch e := e.(type) {
			case Answer:
				for _, n := range e.Nodes {
					a := answer(n)
					a.List = append(a.List, Answered{Entry: e.Entry, Attempt: e.Attempt, Verdict: e.Verdict, Left: c.left(r, e.Entry), Old: e.Old})
				}
			case Ended:
				c.send(e.Node, Removed{Key: r.key, ID: e.Attempt, Known: true})
			case Asked:
				asked = append(asked, e)
			case Happened:
				if e.What == HasFired || e.What == KneeFound {
					e.Absent = c.absent(r)
				}
				c.emit(Publish{Key: r.key, Happened: e})
				if w := r.b.Watcher; w != "" && e.What != Entered {
					e.Absent, e.Lost = c.shorten(e.Absent), c.shorten(e.Lost)
					c.send(w, Notify{Key: r.key, Term: c.terms.Term, Happened: e})
				}
			}
		}
	}
	c.question(r, asked)
	for _, n := range r.spare {
		c.send(n, Forget{Key: r.key, Term: c.terms.Term})
	}
	r.spare = nil
	c.weigh(r)
	if r.b.closed {
		c.bury(r)
	}
	standing := c.standing(r)
	for _, n := range order {
		a := answers[n]
		a.List = latest(a.List)
		a.Standing, a.Watched, a.Stamp = standing, r.b.Watcher == n, r.stamps[n]
		c.sendAnswers(n, *a)
	}
}

// question asks the callbacks, in as many messages as it takes.
func (c *Core) question(r *replica, all []Asked) {
	for len(all) > 0 && r.b.Watcher != "" {
		n := parcel(all, c.cfg.Part, (*Asked).Weight)
		c.send(r.b.Watcher, Question{Key: r.key, Term: c.terms.Term, Asked: all[:n:n]})
		all = all[n:]
	}
}

// shorten returns the first names of a list, and how many others there are, if it is too long for
// a message.
func (c *Core) shorten(names []string) []string {
	n := parcel(names, c.cfg.Part, func(name *string) int { return len(*name) + 3 })
	if n == len(names) {
		return names
	}
	return append(names[:n:n], fmt.Sprintf("and %d others", len(names)-n))
}

// latest leaves of several answers to an entry the last one.
func latest(list []Answered) []Answered {
	last := map[Entry]int{}
	for i, a := range list {
		last[a.Entry] = i
	}
	kept := list[:0]
	for i, a := range list {
		if last[a.Entry] == i {
			kept = append(kept, a)
		}
	}
	return kept
}
