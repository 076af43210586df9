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
// after every step what specification 7 says of the directory:
// (2), (4), (5) and (14); and in the end (20) and (23). A second run of the same
// events must have the same effects.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newModel(rt)
		actions := map[string]func(*rapid.T){
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
			"lose":     m.lose,
			"silence":  m.silence,
			"":         m.check,
		}
		for range 4 { // one round is short unless a flag says otherwise
			rt.Repeat(actions)
		}
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
	deleted  phalanx.Generation

	withdrawn phalanx.Generation // asked for last
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
	digests  map[phalanx.Generation]phalanx.Digest // of what was final when its shard was lost
	caught   phalanx.NodeID                        // has caught up in the view's epoch
	spare    int                                   // nodes that have joined so far

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
		copies: map[phalanx.NodeID]map[phalanx.ObjectID]*copyOf{}, shown: map[phalanx.ObjectID]*shown{},
		digests: map[phalanx.Generation]phalanx.Digest{}}
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
	m.view.Number++
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
					Digest: m.digest(id, c), Pinned: c.complete, Origin: c.origin, Begun: true, Lease: c.lease, Upstream: c.upstream})
			}
		}
		m.step(m.view.Owner, h)
	}
}

// digest returns that of a complete copy, as a node has it.
func (m *model) digest(id phalanx.ObjectID, c *copyOf) phalanx.Digest {
	if s := m.of(id); c.complete && s.final == c.gen {
		return s.digest
	} else if d, ok := m.digests[c.gen]; c.complete && ok {
		return d
	}
	return phalanx.Digest{}
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
	switch kind := rapid.IntRange(0, 18).Draw(t, "kind"); kind {
	case 0, 1:
		body = directory.Begin{Meta: phalanx.Meta{Size: 9}, Copies: rapid.IntRange(0, 2).Draw(t, "copies"), Replace: c.gen, After: m.after(id)}
	case 2:
		body = directory.PutInline{Meta: phalanx.Meta{Size: 1}, Digest: digest, Bytes: digest[:1], Held: true, After: m.after(id)}
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
		body = directory.Delete{Gen: rapid.SampledFrom([]phalanx.Generation{{}, c.gen, m.of(id).gen}).Draw(t, "delete")}
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
	case 15, 16: // by a sender
		p, _ := m.replicas[m.view.Owner].Inspect(id)
		i := slices.IndexFunc(p.Leases, func(l directory.LeaseStat) bool { return l.Sender == from })
		if i < 0 {
			return
		}
		body = directory.Slow{Lease: p.Leases[i].ID}
		if rapid.IntRange(0, 3).Draw(t, "broken") == 0 {
			body = directory.Failed{Lease: p.Leases[i].ID, Reason: "broken"}
		}
	case 17:
		if c.lease == 0 || rapid.IntRange(0, 3).Draw(t, "really") > 0 {
			return
		}
		body = directory.Corrupt{Gen: c.gen, Digest: digest}
		m.of(id).withdrawn = c.gen
	default:
		body = directory.Cancel{Num: uint64(rapid.IntRange(0, int(m.nums[from])).Draw(t, "num"))}
	}
	m.nums[from]++
	m.send(directory.Request{From: from, Num: m.nums[from], Object: id, Body: body})
}

// after returns what a creator says was deleted: nothing, or what was told last.
func (m *model) after(id phalanx.ObjectID) phalanx.Generation {
	if s := m.of(id); rapid.Bool().Draw(m.t, "after") {
		return s.deleted
	}
	return phalanx.Generation{}
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
		if a.Move && c != nil && c.lease == a.Lease && slices.Contains(m.view.Members, a.To) {
			m.nums[a.To]++
			m.send(directory.Request{From: a.To, Num: m.nums[a.To], Object: a.Object, Body: directory.Locate{Room: 100, Wait: true}})
		}
		m.step(m.view.Owner, directory.LeaseKnown{From: a.To, Object: a.Object, Lease: a.Lease, Known: c != nil && c.lease == a.Lease})
	}
	m.asked = nil
}

// acked carries out an order as a node does.
func (m *model) acked(p directory.Push) {
	c := m.copies[p.To][p.Object]
	switch {
	case c == nil:
	case p.Order == directory.PushDrop && !p.Gen.Less(c.gen) || p.Order == directory.PushAbort && !p.Gen.Less(c.gen) || p.Order == directory.PushReset && c.gen.Less(p.Gen):
		delete(m.copies[p.To], p.Object)
	case p.Order == directory.PushFinal && c.origin && c.gen == p.Gen:
		c.complete = true
	}
	m.step(m.view.Owner, directory.PushAcked{From: p.To, Object: p.Object, Seq: p.Seq})
}

func (m *model) tick(t *rapid.T) {
	m.t = t
	m.pass(rapid.SampledFrom([]time.Duration{time.Millisecond, 20 * time.Millisecond, 100 * time.Millisecond, time.Second, time.Minute}).Draw(t, "time"))
}

func (m *model) pass(d time.Duration) {
	m.now += d
	for _, n := range m.view.Members {
		if !m.silent[n] {
			m.step(n, directory.Lease{Until: m.now + time.Second})
		}
		m.step(n, directory.Tick{})
		if r := m.replicas[n]; r == nil {
			continue
		} else if o := r.Overslept(); o != "" {
			m.fail("a tick at %v has left out %s", m.now, o)
		}
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
		for _, c := range e.Changes {
			// What is lost may be replaced. An owner that dies on the way leaves
			// it to the next one to show that. While a change is on its way its
			// state is not told as lost: there is no complete copy.
			p, ok := m.replicas[at].Inspect(c.Record.Object)
			whole := slices.ContainsFunc(p.Holders, func(h directory.HolderStat) bool { return h.Complete })
			if ok && p.Record.State == directory.Finished && !p.Record.Inline && !whole && p.Record.Gen.Less(c.Record.Gen) {
				m.of(c.Record.Object).released = true
			}
		}
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
		if e.Result.Kind == phalanx.ErrDeleted && e.Result.State != directory.Deleted {
			return // it tells of a generation of before
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
		case directory.Delete: // there was nothing when it was answered first
			return q.From == e.To && q.Num == e.Num && e.Result.State == directory.Unbound
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
