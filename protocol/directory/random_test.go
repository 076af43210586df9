package directory_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// TestRandom drives the replicas of one shard with random requests, copies of
// old ones, lost and reordered replication, deaths and view changes, and checks
// after every step what section 7 of the specification says of the directory:
// (2), (4), (5) and (14); and in the end (20) and (23). A second run of the same
// events must have the same effects.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newModel(rt)
		rt.Repeat(map[string]func(*rapid.T){
			"request":  m.request,
			"request2": m.request, // most steps are requests
			"request3": m.request,
			"again":    m.again,
			"deliver":  m.deliverSome,
			"deliver2": m.deliverSome,
			"ack":      m.ackSome,
			"tick":     m.tick,
			"view":     m.change,
			"die":      m.die,
			"silence":  m.silence,
			"":         m.check,
		})
		m.finish()
		m.replay()
	})
}

// copyOf is what a node knows of its copy of one object.
type copyOf struct {
	gen              phalanx.Generation
	complete, origin bool
	lease            uint64
	upstream         phalanx.NodeID
}

type stepped struct {
	at  phalanx.NodeID
	now time.Duration
	ev  directory.Event
}

// shown is what anybody was ever told of an id.
type shown struct {
	gen      phalanx.Generation
	final    phalanx.Generation // the last one that was shown as final
	digest   phalanx.Digest
	released bool // the final one was deleted or replaced
}

type model struct {
	t        *rapid.T
	cfg      directory.Config
	now      time.Duration
	view     directory.Configure
	since    uint64 // the owner's first epoch
	replicas map[phalanx.NodeID]*directory.Shard
	silent   map[phalanx.NodeID]bool
	wire     []wired
	nums     map[phalanx.NodeID]uint64
	sent     []directory.Request
	copies   map[phalanx.NodeID]map[phalanx.ObjectID]*copyOf
	pushes   []directory.Push
	asked    []directory.AskLease
	shown    map[phalanx.ObjectID]*shown
	caught   phalanx.NodeID // has caught up in the view's epoch
	spare    int            // nodes that have joined so far

	steps   []stepped
	effects []string
	log     []string // of both, for a failure
}

// fail prints what has happened last.
func (m *model) fail(format string, args ...any) {
	m.t.Helper()
	for _, l := range m.log[max(0, len(m.log)-80):] {
		m.t.Log(l)
	}
	m.t.Fatalf(format, args...)
}

var ids = []phalanx.ObjectID{"x", "y"}

func newModel(t *rapid.T) *model {
	m := &model{t: t, cfg: directory.Config{InlineLimit: 8, Fanout: rapid.IntRange(1, 2).Draw(t, "fanout")},
		replicas: map[phalanx.NodeID]*directory.Shard{}, silent: map[phalanx.NodeID]bool{}, nums: map[phalanx.NodeID]uint64{},
		copies: map[phalanx.NodeID]map[phalanx.ObjectID]*copyOf{}, shown: map[phalanx.ObjectID]*shown{}}
	for range 5 {
		m.join()
	}
	m.view.Epoch, m.view.Owner, m.view.Backup = 1, m.view.Members[0], m.view.Members[1]
	m.since = 1
	m.configure()
	m.report()
	return m
}

func (m *model) join() {
	n := phalanx.NodeID(fmt.Sprintf("n%d", m.spare))
	m.spare++
	cfg := m.cfg
	cfg.Self = n
	m.replicas[n] = directory.New(cfg)
	m.copies[n] = map[phalanx.ObjectID]*copyOf{}
	m.view.Members = append(slices.Clone(m.view.Members), n)
}

func (m *model) configure() {
	for _, n := range m.view.Members {
		m.step(n, m.view)
	}
	for _, n := range m.view.Members {
		if !m.silent[n] {
			m.step(n, directory.Lease{Until: m.now + time.Second})
		}
	}
}

// report has every member tell the owner what it has.
func (m *model) report() {
	for _, n := range m.view.Members {
		h := directory.Holdings{From: n, Epoch: m.view.Epoch, Round: m.view.Epoch, End: true}
		for _, id := range ids {
			if c := m.copies[n][id]; c != nil {
				h.Holdings = append(h.Holdings, directory.Holding{Object: id, Gen: c.gen, Meta: phalanx.Meta{Size: 9}, Complete: c.complete,
					Pinned: c.complete, Origin: c.origin, Begun: true, Lease: c.lease, Upstream: c.upstream})
			}
		}
		m.step(m.view.Owner, h)
	}
}

func (m *model) node(label string) phalanx.NodeID {
	return rapid.SampledFrom(m.view.Members).Draw(m.t, label)
}

// request sends a request that a node could send.
func (m *model) request(t *rapid.T) {
	m.t = t
	from, id := m.node("from"), rapid.SampledFrom(ids).Draw(t, "object")
	c := m.copies[from][id]
	if c == nil {
		c = &copyOf{}
	}
	digest := phalanx.Digest{byte(rapid.IntRange(1, 2).Draw(t, "digest"))}
	var body directory.Body
	switch kind := rapid.IntRange(0, 15).Draw(t, "kind"); kind {
	case 0, 1:
		body = directory.Begin{Meta: phalanx.Meta{Size: 9}, Copies: rapid.IntRange(0, 2).Draw(t, "copies"), Replace: c.gen}
	case 2:
		body = directory.PutInline{Meta: phalanx.Meta{Size: 1}, Digest: digest, Bytes: digest[:1], Held: true}
	case 3:
		body = directory.Final{Gen: c.gen, Meta: phalanx.Meta{Size: 9}, Digest: digest, Held: c.origin}
	case 4:
		body = directory.Abort{Gen: c.gen}
	case 5:
		body = directory.Restart{Gen: c.gen}
	case 6:
		if rapid.IntRange(0, 3).Draw(t, "really") > 0 {
			return
		}
		body = directory.Delete{}
	case 7:
		body = directory.Announce{Gen: c.gen, Complete: c.complete, Pinned: c.complete, Origin: c.origin, Begun: true}
	case 8, 9, 10:
		body = directory.Locate{Room: rapid.SampledFrom([]int64{0, 100}).Draw(t, "room"), Wait: rapid.Bool().Draw(t, "wait")}
	case 11:
		body = directory.Done{Lease: c.lease, Gen: c.gen, Complete: rapid.Bool().Draw(t, "complete"), Rate: rapid.Int64Range(0, 9).Draw(t, "rate")}
	case 12:
		body = directory.Failed{Lease: c.lease, Reason: "broken"}
	case 13:
		body = directory.Watch{}
	case 14:
		body = directory.Evict{Gen: c.gen}
	default:
		body = directory.Cancel{Num: uint64(rapid.IntRange(0, int(m.nums[from])).Draw(t, "num"))}
	}
	m.nums[from]++
	m.send(directory.Request{From: from, Num: m.nums[from], Object: id, Body: body})
}

func (m *model) send(r directory.Request) {
	m.sent = append(m.sent, r)
	c := m.copies[r.From][r.Object]
	switch b := r.Body.(type) { // what the node does with its copy as it says so
	case directory.Done:
		if c != nil {
			c.complete, c.lease, c.upstream = c.complete || b.Complete, 0, ""
		}
	case directory.Failed:
		if c != nil {
			c.lease, c.upstream = 0, ""
		}
	}
	m.step(m.view.Owner, r)
}

// again repeats a request: its answer was lost, or the network sends it twice.
func (m *model) again(t *rapid.T) {
	m.t = t
	if len(m.sent) > 0 {
		r := rapid.SampledFrom(m.sent[max(0, len(m.sent)-20):]).Draw(t, "again")
		at := m.view.Owner
		if rapid.IntRange(0, 9).Draw(t, "elsewhere") == 0 {
			at = m.node("at")
		}
		m.step(at, r)
	}
}

func (m *model) deliverSome(t *rapid.T) {
	m.t = t
	for range rapid.IntRange(1, 10).Draw(t, "messages") {
		if len(m.wire) == 0 {
			return
		}
		i := rapid.IntRange(0, min(3, len(m.wire)-1)).Draw(t, "message")
		w := m.wire[i]
		m.wire = slices.Delete(m.wire, i, i+1)
		switch rapid.IntRange(0, 9).Draw(t, "fate") {
		case 0: // lost
		case 1: // twice
			m.step(w.to, w.ev)
			m.step(w.to, w.ev)
		default:
			m.step(w.to, w.ev)
		}
	}
}

func (m *model) ackSome(t *rapid.T) {
	m.t = t
	for len(m.pushes) > 0 && rapid.Bool().Draw(t, "ack") {
		p := m.pushes[0]
		m.pushes = m.pushes[1:]
		m.acked(p)
	}
	for _, a := range m.asked {
		c := m.copies[a.To][a.Object]
		m.step(m.view.Owner, directory.LeaseKnown{From: a.To, Object: a.Object, Lease: a.Lease, Known: c != nil && c.lease == a.Lease})
	}
	m.asked = nil
}

// acked carries out an order as a node does.
func (m *model) acked(p directory.Push) {
	c := m.copies[p.To][p.Object]
	switch {
	case c == nil:
	case p.Order == directory.PushDrop || p.Order == directory.PushAbort && !p.Gen.Less(c.gen) || p.Order == directory.PushReset && c.gen.Less(p.Gen):
		delete(m.copies[p.To], p.Object)
	case p.Order == directory.PushFinal && c.origin && c.gen == p.Gen:
		c.complete = true
	}
	m.step(m.view.Owner, directory.PushAcked{From: p.To, Object: p.Object, Seq: p.Seq})
}

func (m *model) tick(t *rapid.T) {
	m.t = t
	m.pass(rapid.SampledFrom([]time.Duration{time.Millisecond, 20 * time.Millisecond, 100 * time.Millisecond, time.Second}).Draw(t, "time"))
}

func (m *model) pass(d time.Duration) {
	m.now += d
	for _, n := range m.view.Members {
		if !m.silent[n] {
			m.step(n, directory.Lease{Until: m.now + time.Second})
		}
		m.step(n, directory.Tick{})
	}
}

// silence lets a node lose the majority, or find it again.
func (m *model) silence(t *rapid.T) {
	m.t = t
	n := m.node("silent")
	m.silent[n] = !m.silent[n]
	if m.silent[n] {
		m.pass(1100 * time.Millisecond)
	}
}

// change makes a view change that the voters could decide.
func (m *model) change(t *rapid.T) {
	m.t = t
	v := &m.view
	others := slices.DeleteFunc(slices.Clone(v.Members), func(n phalanx.NodeID) bool { return n == v.Owner || n == v.Backup })
	switch rapid.IntRange(0, 5).Draw(t, "change") {
	case 0: // the owner asks to drop a backup that is silent
		if v.Backup != "" && v.Next == "" && len(others) > 0 {
			v.Epoch++
			v.Backup, v.Next, m.caught = "", rapid.SampledFrom(others).Draw(t, "next"), ""
		}
	case 1: // another backup is wanted
		if v.Next == "" && len(others) > 0 {
			v.Next, m.caught = rapid.SampledFrom(others).Draw(t, "next"), ""
		}
	case 2: // it is not wanted any more
		if v.Next != "" && v.Backup != "" {
			v.Epoch++
			v.Next, m.caught = "", ""
		}
	case 3, 4: // it has caught up; with a backup it is the owner that goes
		m.promote(rapid.Bool().Draw(t, "owner goes"))
		return
	case 5: // owner and backup change places
		if v.Backup != "" && v.Next == "" {
			v.Epoch++
			v.Owner, v.Backup, m.caught = v.Backup, v.Owner, ""
			m.moved()
			return
		}
	}
	m.configure()
}

func (m *model) promote(ownerGoes bool) {
	v := &m.view
	if v.Next == "" || v.Next != m.caught {
		return
	}
	was := v.Owner
	v.Epoch++
	if v.Backup != "" && ownerGoes {
		v.Owner = v.Backup
	}
	v.Backup, v.Next, m.caught = v.Next, "", ""
	if v.Owner != was {
		m.moved()
		return
	}
	m.configure()
}

func (m *model) moved() {
	m.since = m.view.Epoch
	m.pushes = nil
	m.configure()
	m.report()
}

// die kills a node, and lets another one join.
func (m *model) die(t *rapid.T) {
	m.t = t
	v := &m.view
	n := m.node("dead")
	if n == v.Owner && v.Backup == "" || n == v.Backup && rapid.Bool().Draw(t, "spared") {
		return // both of a pair would be lost
	}
	delete(m.replicas, n)
	v.Members = slices.DeleteFunc(slices.Clone(v.Members), func(m phalanx.NodeID) bool { return m == n })
	m.join()
	moved := n == v.Owner
	switch n {
	case v.Owner:
		v.Owner, v.Backup = v.Backup, ""
		v.Epoch++
		m.caught = ""
	case v.Backup:
		v.Backup = ""
		v.Epoch++
		m.caught = ""
	case v.Next:
		v.Next = ""
		v.Epoch++
		m.caught = ""
	}
	if v.Next == v.Owner {
		v.Next = ""
	}
	if v.Backup == "" && v.Next == "" {
		v.Next = v.Members[slices.IndexFunc(v.Members, func(n phalanx.NodeID) bool { return n != v.Owner })]
	}
	if moved {
		m.moved()
		return
	}
	m.configure()
}

func (m *model) step(n phalanx.NodeID, ev directory.Event) {
	r := m.replicas[n]
	if r == nil {
		return
	}
	m.steps = append(m.steps, stepped{n, m.now, ev})
	m.note("%v %s ← %T %+v", m.now, n, ev, ev)
	for _, e := range r.Step(m.now, ev) {
		m.effects = append(m.effects, fmt.Sprintf("%s: %v", n, e))
		m.note("      %s: %v", n, e)
		m.carryOut(n, e)
	}
}

// note keeps a line for a failure; what comes all the time is left out.
func (m *model) note(format string, args ...any) {
	if len(args) == 4 {
		switch args[3].(type) {
		case directory.Lease, directory.Tick:
			return
		}
	}
	m.log = append(m.log, fmt.Sprintf(format, args...))
}

func (m *model) carryOut(at phalanx.NodeID, e directory.Effect) {
	switch e := e.(type) {
	case directory.SendReplicate:
		m.wire = append(m.wire, wired{e.To, e.Replicate})
	case directory.SendConfirm:
		m.wire = append(m.wire, wired{e.To, e.Confirm})
	case directory.Push:
		if at == m.view.Owner {
			m.pushes = append(m.pushes, e)
		}
	case directory.AskLease:
		m.asked = append(m.asked, e)
	case directory.CaughtUp:
		if e.Epoch == m.view.Epoch && e.Node == m.view.Next {
			m.caught = e.Node
		}
	case directory.ObjectReplaced:
		m.of(e.Object).released = true
	case directory.Readiness:
		m.show(at, e.Object, e.State, e.Gen, e.Digest)
	case directory.Reply:
		if e.Result.NotOwner || m.silentBody(e) {
			return
		}
		m.show(at, e.Object, e.Result.State, e.Result.Gen, e.Result.Digest)
		m.learn(e)
	}
}

// silentBody reports whether e answers a request whose answer tells nothing.
func (m *model) silentBody(e directory.Reply) bool {
	return slices.ContainsFunc(m.sent, func(q directory.Request) bool {
		switch q.Body.(type) {
		case directory.Cancel, directory.Drop:
			return q.From == e.To && q.Num == e.Num
		}
		return false
	})
}

// learn is what a node does with an answer.
func (m *model) learn(e directory.Reply) {
	r := e.Result
	mine := m.copies[e.To]
	if mine == nil || r.Kind != 0 || r.Waiting {
		return
	}
	for _, q := range m.sent {
		if q.From != e.To || q.Num != e.Num {
			continue
		}
		switch q.Body.(type) {
		case directory.Begin, directory.Restart:
			if r.State == directory.Begun && r.Attached == "" {
				mine[e.Object] = &copyOf{gen: r.Gen, origin: true}
			}
		case directory.PutInline, directory.Final:
			if c := mine[e.Object]; c != nil && c.gen == r.Gen && r.State == directory.Finished {
				c.complete = true
			}
		case directory.Locate:
			if r.Lease != 0 {
				c := mine[e.Object]
				if c == nil || c.gen != r.Gen {
					c = &copyOf{gen: r.Gen}
					mine[e.Object] = c
				}
				c.lease, c.upstream = r.Lease, r.Sender
			}
		case directory.Evict, directory.Drop:
			if c := mine[e.Object]; c != nil && c.gen == r.Gen {
				delete(mine, e.Object)
			}
		}
		return
	}
}

func (m *model) of(id phalanx.ObjectID) *shown {
	if m.shown[id] == nil {
		m.shown[id] = &shown{}
	}
	return m.shown[id]
}

// show checks (2) and (14): what anybody is told is on the backup, generations
// rise, and what is final stays until it is deleted or replaced.
func (m *model) show(at phalanx.NodeID, id phalanx.ObjectID, st directory.State, g phalanx.Generation, d phalanx.Digest) {
	if at != m.view.Owner {
		m.fail("(14) %s answers, the owner is %s", at, m.view.Owner)
	}
	if m.silent[at] && m.now > 0 && m.mute(at) {
		m.fail("(14) %s answers without a majority", at)
	}
	own, _ := m.replicas[at].Inspect(id)
	if b := m.view.Backup; b != "" && m.replicas[b] != nil && !own.Changing {
		p, _ := m.replicas[b].Inspect(id)
		ok := p.Record.Gen == g && (st != directory.Finished && st != directory.Lost || p.Record.State == directory.Finished) &&
			(st != directory.Deleted || p.Record.State == directory.Deleted)
		if st != directory.Unbound && !ok && !g.Less(p.Record.Gen) {
			m.fail("(14) %s shows %s %v %v, its backup %s has %v", at, id, st, g, b, p.Record)
		}
	}
	s := m.of(id)
	switch {
	case st == directory.Deleted:
		s.released = true
	case st == directory.Unbound:
		if !s.final.IsZero() && !s.released {
			m.fail("(2) %s is unbound after it was final as %v", id, s.final)
		}
		return
	case g.Less(s.gen):
		m.fail("(2) %s goes from %v back to %v", id, s.gen, g)
	case s.final.Less(g) && !s.final.IsZero() && !s.released:
		m.fail("(2) %s goes from %v, which is final, to %v", id, s.final, g)
	}
	if s.gen.Less(g) {
		s.gen = g
	}
	if (st == directory.Finished || st == directory.Lost) && !d.IsZero() {
		if s.final == g && s.digest != d {
			m.fail("(2) %s %v has digests %v and %v", id, g, s.digest, d)
		}
		s.final, s.digest, s.released = g, d, false
	}
}

// mute reports whether the lease of n has run out.
func (m *model) mute(n phalanx.NodeID) bool {
	for i := len(m.steps) - 1; i >= 0; i-- {
		if l, ok := m.steps[i].ev.(directory.Lease); ok && m.steps[i].at == n {
			return m.now > l.Until
		}
	}
	return true
}

// check looks at the leases that the present owner has granted.
func (m *model) check(t *rapid.T) {
	m.t = t
	for _, id := range ids {
		p, _ := m.replicas[m.view.Owner].Inspect(id)
		up := map[phalanx.NodeID]phalanx.NodeID{}
		count := map[phalanx.NodeID]int{}
		for _, l := range p.Leases {
			if _, twice := up[l.Receiver]; twice {
				m.fail("(4) %s reads %s under two leases: %+v", l.Receiver, id, p)
			}
			up[l.Receiver] = ""
			if l.ID>>32 < m.since {
				continue // of an earlier owner: that can clash with what was granted meanwhile
			}
			up[l.Receiver] = l.Sender
			if count[l.Sender]++; !l.Slow && count[l.Sender] > m.cfg.Fanout {
				m.fail("(4) %s sends %s to %d receivers: %+v", l.Sender, id, count[l.Sender], p)
			}
			if !slices.Contains(m.view.Members, l.Sender) || !slices.Contains(m.view.Members, l.Receiver) {
				m.fail("(20) a lease names a node that is gone: %+v", p)
			}
		}
		for n := range up {
			seen := 0
			for at := n; at != ""; at = up[at] {
				if seen++; seen > len(up)+1 && !complete(p, at) {
					m.fail("(5) the senders of %s form a cycle: %+v", id, p)
				}
				if complete(p, at) {
					break
				}
			}
		}
	}
}

func complete(p directory.Picture, n phalanx.NodeID) bool {
	return slices.ContainsFunc(p.Holders, func(h directory.HolderStat) bool { return h.Node == n && h.Complete })
}

// settle ends all faults and lets everything that is on its way arrive.
func (m *model) settle() {
	clear(m.silent)
	for range 6 {
		m.pass(100 * time.Millisecond)
		for len(m.wire) > 0 {
			w := m.wire[0]
			m.wire = m.wire[1:]
			m.step(w.to, w.ev)
		}
		m.promote(false)
		m.report()
		for _, p := range m.pushes {
			m.acked(p)
		}
		m.pushes = nil
	}
}

// finish deletes everything: then nothing may be left (23).
func (m *model) finish() {
	m.settle()
	if m.view.Backup == "" {
		m.fail("liveness: no backup after everything has settled: %+v", m.view)
	}
	from := m.view.Owner
	for _, id := range ids {
		m.nums[from]++
		m.send(directory.Request{From: from, Num: m.nums[from], Object: id, Body: directory.Delete{}})
	}
	for _, r := range m.sent {
		if _, ok := r.Body.(directory.Watch); ok && slices.Contains(m.view.Members, r.From) {
			m.nums[r.From]++
			m.send(directory.Request{From: r.From, Num: m.nums[r.From], Object: r.Object, Body: directory.Cancel{Num: r.Num}})
		}
	}
	m.settle()
	m.pass(21 * time.Minute)
	m.settle()
	for _, n := range []phalanx.NodeID{m.view.Owner, m.view.Backup} {
		if left := m.replicas[n].Objects(); len(left) > 0 {
			p, _ := m.replicas[n].Inspect(left[0])
			m.fail("(23) %s still has %v: %+v", n, left, p)
		}
	}
}

// replay runs the same events on new replicas.
func (m *model) replay() {
	replicas := map[phalanx.NodeID]*directory.Shard{}
	var effects []string
	for _, s := range m.steps {
		if replicas[s.at] == nil {
			cfg := m.cfg
			cfg.Self = s.at
			replicas[s.at] = directory.New(cfg)
		}
		for _, e := range replicas[s.at].Step(s.now, s.ev) {
			effects = append(effects, fmt.Sprintf("%s: %v", s.at, e))
		}
	}
	if !slices.Equal(effects, m.effects) {
		m.fail("the same events have other effects the second time")
	}
}
