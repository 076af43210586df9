package workflow

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

var worlds = flag.Int("workflow.worlds", 1000, "how many random clusters run workflows")

// Whatever fails, runs on a cluster end as if nothing had failed, and nothing is left of them.
func TestClustersRunWorkflows(t *testing.T) {
	met := map[string]int{}
	for seed := range uint64(*worlds) {
		if *dbgSeed >= 0 && int(seed) != *dbgSeed {
			continue
		}
		w := newWorld(t, seed, met)
		for range 300 + w.r.IntN(1200) {
			w.happen()
		}
		w.settle()
		w.check()
	}
	t.Log(met)
}

// happen makes something random happen.
func (w *world) happen() {
	w.now += time.Duration(w.r.IntN(12)) * time.Millisecond
	if !w.calm && w.r.IntN(300) == 0 {
		w.now += time.Duration(w.r.IntN(4)) * time.Second
	}
	w.tick()
	t := w.tenures[w.r.IntN(len(w.tenures))]
	switch k := w.r.IntN(40); {
	case k < 14:
		w.deliver()
	case k < 18:
		w.write(t)
	case k < 22 && len(t.later) > 0:
		ev := t.later[0]
		t.later = t.later[1:]
		w.control(t, ev)
	case k < 28:
		w.attempt()
	case k < 30:
		w.saveBlob()
	case k < 32:
		w.ask()
	case k < 33 && t.view < len(w.views)-1:
		t.view++
		w.control(t, w.views[t.view])
	case k < 34 && len(w.gone) > 0:
		b := w.gone[0]
		w.gone = w.gone[1:]
		w.control(w.present(), OutputGone{b})
	case k < 35:
		w.see()
	case k >= 36 && !w.calm && w.r.IntN(1+3*int(w.seed%6)) == 0: // in some worlds less fails, so that runs get on
		w.harm()
	}
}

// write has a Write become durable, or its tenure hear of it.
func (w *world) write(t *tenure) {
	switch {
	case len(t.told) > 0 && w.r.IntN(2) == 0:
		n := t.told[0]
		t.told = t.told[1:]
		w.control(t, Durable{n})
	case t != w.present():
		if len(t.queue) > 0 || w.r.IntN(4) == 0 {
			w.met["tenure refused"]++
			w.control(t, Refused{})
			w.tenures = slices.DeleteFunc(w.tenures, func(o *tenure) bool { return o == t })
		}
	case len(t.queue) > 0:
		w.apply(t.queue[0])
		t.told = append(t.told, t.queue[0].Number)
		t.queue = t.queue[1:]
	}
}

func (w *world) attempt() {
	for _, n := range w.sorted() {
		if len(n.jobs) > 0 && n.hangs <= w.now && w.r.IntN(2) == 0 {
			ids := slices.SortedFunc(maps.Keys(n.jobs), AttemptID.compare)
			w.finish(n, ids[w.r.IntN(len(ids))])
			return
		}
	}
}

func (w *world) saveBlob() {
	for _, n := range w.sorted() {
		if len(n.saves) == 0 || n.hangs > w.now || w.r.IntN(2) == 0 {
			continue
		}
		s := n.saves[0]
		n.saves = n.saves[1:]
		ev := BlobSaved{Blob: s.Blob}
		hash, wait := uint64(0), false
		has := false
		for _, m := range w.sorted() {
			if h, is := m.store[s.Blob]; is && m.inView && m.dead {
				wait = true
			} else if is && m.inView {
				hash, has = h, true
			}
		}
		switch {
		case !has && wait:
			n.saves = append(n.saves, s)
			return
		case !has:
			ev.Failed, ev.Missing = "it is gone", true
			w.met["checkpoint of what is gone"]++
		case !w.calm && w.r.IntN(5) == 0:
			ev.Failed = "the disk is slow"
		default:
			w.disks[n.disk][s.Blob] = hash
		}
		w.executor(n, ev)
		return
	}
}

// see has the members that live see to what the view does not know yet.
func (w *world) see() {
	for _, n := range w.sorted() {
		if n.dead && n.inView {
			w.remove(n)
			return
		}
	}
}

// harm makes something fail.
func (w *world) harm() {
	nodes := w.sorted()
	n := nodes[w.r.IntN(len(nodes))]
	switch k := w.r.IntN(100); {
	case k < 10 && len(w.members()) > 1 || k < 4:
		w.kill(n)
		w.join(n.disk)
	case k < 14 && n.inView && !n.dead:
		w.remove(n)
		w.join(n.disk)
	case k < 25:
		for _, b := range slices.SortedFunc(maps.Keys(n.store), Blob.compare) {
			if w.r.IntN(3) == 0 {
				delete(n.store, b)
				w.executor(n, Dropped{b})
				w.met["object lost"]++
			}
		}
		w.lookForCopies()
	case k < 35:
		w.newTenure()
	case k < 45 && n.inView && !n.dead:
		w.met["node hangs"]++
		n.hangs = w.now + time.Duration(w.r.IntN(4000))*time.Millisecond
		if w.r.IntN(2) == 0 {
			w.newTenure()
		}
	case k == 45:
		w.met["all die"]++
		var disks []string
		for _, n := range nodes {
			if n.inView {
				disks = append(disks, n.disk)
			}
			w.kill(n)
			delete(w.nodes, n.id)
		}
		w.boot++
		for _, d := range slices.Compact(slices.Sorted(slices.Values(disks))) {
			w.join(d)
		}
		w.tenures = w.tenures[len(w.tenures)-1:]
		w.newTenure()
		w.tenures = w.tenures[len(w.tenures)-1:]
	}
}

func (w *world) members() (all []*machine) {
	for _, n := range w.sorted() {
		if n.inView && !n.dead {
			all = append(all, n)
		}
	}
	return all
}

// tick has controllers and executors hear of the time, some late.
func (w *world) tick() {
	for _, t := range slices.Clone(w.tenures) {
		if at, ok := t.c.Due(); ok && at <= w.now && (w.calm || w.r.IntN(4) > 0) {
			w.control(t, Tick{})
		}
	}
	for _, n := range w.sorted() {
		if at, ok := n.x.Due(); ok && at <= w.now && n.hangs <= w.now && (w.calm || w.r.IntN(4) > 0) {
			w.executor(n, Tick{})
		}
	}
}

// --- clients

func (w *world) ask() {
	ids := slices.Sorted(maps.Keys(w.runs))
	k := w.runs[ids[w.r.IntN(len(ids))]]
	var call Call = Start{ID: k.id, Key: k.id, Work: k.work}
	if !k.uid.IsZero() || w.r.IntN(10) == 0 {
		call = AwaitResult{k.id}
	}
	if !w.calm {
		switch w.r.IntN(60) {
		case 0:
			call = CancelRun{k.id, "somebody wants it"}
		case 1:
			call = GetStatus{k.id}
		case 2:
			call = List{Prefix: "run/"}
		case 3:
			call = Attach{k.id}
		case 4:
			call = Start{ID: k.id, Work: workOf(&Graph{Tasks: append(slices.Clone(k.g.Tasks), Task{Effect: None})}, 0)}
		case 5:
			if w.r.IntN(4) == 0 {
				call = Forget{k.id}
			}
		}
	}
	if w.r.IntN(20) == 0 && !k.uid.IsZero() || w.calm && w.r.IntN(3) == 0 {
		call = ResumeRun{ID: k.id}
	}
	for caller, q := range w.calling { // the host of their controller has died
		if !slices.ContainsFunc(w.tenures, func(t *tenure) bool { return t.name == q.to }) {
			delete(w.calling, caller)
		}
	}
	if len(w.calling) > 20 {
		return
	}
	t := w.tenures[w.r.IntN(len(w.tenures))]
	w.caller++
	w.calling[w.caller] = asked{call, k, t.name}
	w.control(t, Called{Caller: w.caller, Call: call, Patience: time.Duration(w.r.IntN(5000)) * time.Millisecond})
	if w.r.IntN(20) == 0 {
		delete(w.calling, w.caller)
		w.control(t, Withdrawn{w.caller})
	}
}

func (w *world) answered(t *tenure, a Answer) {
	q, is := w.calling[a.Caller]
	if !is {
		return
	}
	delete(w.calling, a.Caller)
	k := q.run
	if errorKind(a.Err) == phalanx.ErrDeleted {
		k.done = true
	}
	if a.Err != nil {
		w.met["answer "+fmt.Sprintf("%T", q.call)[9:]+" "+errorKind(a.Err).Error()]++
	}
	mine := func() {
		if k.uid.IsZero() {
			k.uid = a.Run
		}
		if k.uid != a.Run {
			w.fail("(11) %s is run %s, and was %s", k.id, a.Run, k.uid)
		}
	}
	durable := func() {
		n, _ := w.rows[idKey(k.id)].(Name)
		if n.Run != a.Run {
			w.fail("(2) %s is answered as run %s, and %+v is durable", k.id, a.Run, n)
		}
	}
	switch call := q.call.(type) {
	case Start:
		other := call.Work != k.work
		if other && a.Err == nil && (k.uid.IsZero() || len(k.work.Calls) != len(call.Work.Calls)) {
			durable()
			if o := w.outside[a.Run]; len(o.g.Tasks) != len(call.Work.Calls) {
				w.fail("(11) another workflow has attached to %s", k.id)
			}
			k.g, k.work = call.Work.Graph, call.Work // this one was first
		}
		if a.Err == nil {
			durable()
			mine()
		} else if errorKind(a.Err) == phalanx.ErrMismatch && !other && k.uid.IsZero() {
			for _, o := range w.outside { // the other one was first
				if o.id == k.id && o.durable {
					k.g, k.work = o.g, workOf(o.g, 0)
				}
			}
		}
	case Attach:
		if a.Err == nil {
			durable()
			mine()
		}
	case AwaitResult:
		if a.Err != nil {
			break
		}
		mine()
		if n, _ := w.rows[idKey(k.id)].(Name); n.State != Finished && n.State != Forgotten {
			w.fail("(2) the result of %s is answered before it is durable", k.id)
		}
		text := fmt.Sprintf("%q", a.Result.Failed)
		for _, l := range a.Result.Outputs {
			text += fmt.Sprintf(" %x", l.Output.Digest)
		}
		if old, is := w.results[a.Run]; is && old != text {
			w.fail("(4) the result of %s was %s and is %s", k.id, old, text)
		}
		w.results[a.Run] = text
		k.done = true
	case CancelRun:
		if a.Err == nil {
			n := w.rows[idKey(k.id)].(Name)
			k.aborted = true
			if n.State == Finished && n.Why == "" {
				w.fail("(2) the cancel of %s is answered, and it has ended well", k.id)
			}
		}
	}
}

func errorKind(err error) phalanx.Kind {
	var e *phalanx.Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return 0
}

// --- the end

// settle lets everything end without faults.
func (w *world) settle() {
	w.calm = true
	for _, n := range w.sorted() {
		if n.dead && n.inView {
			w.remove(n)
		}
	}
	w.join("") // it has a disk and all functions, if no other has
	for n := 0; !w.ended(); n++ {
		if n > 60_000 {
			w.fail("(14) it does not end:%s", w.state())
		}
		w.happen()
	}
	for range 3 {
		w.now += 2 * time.Minute // callers that wait go, and stragglers end
		for n := 0; n < 3000 && (n < 20 || w.busy()); n++ {
			w.happenQuietly()
		}
	}
}

// busy reports whether anything is under way.
func (w *world) busy() bool {
	n := len(w.net)
	for _, t := range w.tenures {
		n += len(t.queue) + len(t.later) + len(t.told) + len(w.views) - 1 - t.view
	}
	for _, m := range w.nodes {
		n += len(m.jobs) + len(m.saves)
	}
	return n > 0 || len(w.tenures) > 1
}

// happenQuietly is happen without clients.
func (w *world) happenQuietly() {
	w.now += time.Duration(w.r.IntN(5)) * time.Millisecond
	w.tick()
	w.deliver()
	for _, t := range slices.Clone(w.tenures) {
		w.write(t)
		if len(t.later) > 0 {
			ev := t.later[0]
			t.later = t.later[1:]
			w.control(t, ev)
		}
		if t.view < len(w.views)-1 {
			t.view++
			w.control(t, w.views[t.view])
		}
	}
	w.attempt()
	w.saveBlob()
}

func (w *world) ended() bool {
	for _, k := range w.runs {
		if !k.done {
			return false
		}
	}
	return true
}

func (w *world) state() (text string) {
	c := w.present().c
	for _, h := range c.runs {
		text += fmt.Sprintf("\n  %s %s: held %v, ready %d, flights %d, saves %d, pending %d, why %q", h.id, h.uid, h.held != nil, h.ready, len(h.flights), h.saves, h.pending, h.why)
		for v := range h.run.tasks {
			text += fmt.Sprintf("\n    %d facts %06b want %v %+v", v, h.run.x.facts[v], h.wants(v), h.work.Graph.Tasks[v])
		}
	}
	for id, k := range w.runs {
		text += fmt.Sprintf("\n  client %s: %s done %v; row %+v", id, k.uid, k.done, w.rows[idKey(id)])
	}
	text += fmt.Sprintf("\n  calls %d, queue %d, later %d, recorded %v, members %d, gone %d, save queue %d", len(c.calls), len(w.present().queue), len(w.present().later), c.recorded, len(c.members), len(w.gone), len(c.saveQueue))
	for _, m := range c.sortedMembers() {
		text += fmt.Sprintf("\n  %s used %d of %d, busy %v, flights %d, asks %d, group %v", m.node, m.used, m.slots, m.busy, len(m.flights), len(m.asks), m.group != nil)
	}
	for _, n := range w.sorted() {
		text += fmt.Sprintf("\n  %s view %v dead %v jobs %d saves %d kept %d", n.id, n.inView, n.dead, len(n.jobs), len(n.saves), len(n.x.ended))
	}
	return text
}

// check looks at what outsiders have seen, and at what is left.
func (w *world) check() {
	maps.DeleteFunc(w.outside, func(_ UID, o *outside) bool { return !o.durable })
	for _, u := range slices.SortedFunc(maps.Keys(w.outside), UID.compare) {
		w.checkRun(u, w.outside[u])
	}
	byID := map[string]UID{}
	for u, o := range w.outside {
		if old, is := byID[o.id]; is {
			w.fail("(11) %s was run %s and %s", o.id, old, u)
		}
		byID[o.id] = u
	}
	c := w.present().c
	left := map[string]int{"runs": len(c.runs), "ids": len(c.ids), "held runs": len(c.heldRuns), "timers": c.timers.Len(), "reads": len(c.reads), "lookups": len(c.looking),
		"calls": len(c.calls), "patience": c.patience.Len(), "watchers": len(c.watchers), "repeats": c.repeats.Len(), "saves": len(c.saves) + len(c.saveQueue),
		"unacked": len(c.unacked), "locks": len(c.busyID), "strays": len(c.strays), "waiting": c.place.waiting.Len(), "bytes": c.bytes, "recorded": len(c.recorded), "writes": len(c.written)}
	for _, p := range c.place.pools {
		left["lines"] += len(p.lines) + len(p.late)
	}
	for _, m := range c.members {
		left["slots"] += m.used
		left["flights"] += len(m.flights) + len(m.foreign) + len(m.saves) + len(m.waiting) + len(m.acks)
		left["releases"] += len(m.release) + len(m.asks)
	}
	for _, n := range w.members() {
		left["attempts"] += len(n.jobs) + len(n.x.running)
		left["reports"] += len(n.x.ended) + n.x.repeats.Len() + n.x.bytes
		left["blobs under way"] += len(n.x.saving)
		for u, holds := range n.x.holds {
			if len(holds) > 0 {
				w.fail("(12) %s has %v of run %s", n.id, slices.Collect(maps.Keys(holds)), u)
			}
		}
		left["objects"] += len(n.store)
	}
	for _, k := range slices.Sorted(maps.Keys(w.rows)) {
		if len(k) > 7 && (k[:7] == "active/" || k[:7] == "waiting") {
			left["rows "+k]++
		}
	}
	for what, n := range left {
		if n != 0 {
			w.fail("(12) left at the end: %d %s", n, what)
		}
	}
}

// checkRun checks that effects are those of one run without failures; or, if the run has gone back, those that
// nothing takes back and what is above them.
func (w *world) checkRun(u UID, s *outside) {
	e, err := Check(s.g)
	if err != nil {
		w.fail("%v", err)
	}
	n, _ := w.rows[idKey(s.id)].(Name)
	if n.Run == u && n.State == Forgotten {
		w.met["forgotten"]++
		return
	}
	if n.Run != u || n.State != Finished {
		w.fail("(14) run %s has not ended: %+v", u, n)
	}
	r := NewRun(RunConfig{Epoch: 1 << 60}, e, w.records(u))
	w.met["went back"] += min(1, len(r.failing))
	for v := range s.g.Tasks {
		t := &s.g.Tasks[v]
		if r.failing != "" {
			stays := t.Effect == Idempotent
			r.x.below(v, func(b int) {
				stays = stays || s.g.Tasks[b].Effect == Idempotent && r.x.facts[b]&begun != 0
			})
			if len(s.journal[v]) > 0 && (!stays || t.Compensates && r.x.facts[v]&ended != 0 && r.tasks[v].output.Error == "") {
				w.fail("(1) the effect of %d of %s is left", v, u)
			}
			continue
		}
		caught := r.tasks[v].output.Error != ""
		if t.Effect != None && len(s.journal[v]) != 1 && !caught {
			w.fail("(1) outsiders see %d effects of %d of %s", len(s.journal[v]), v, u)
		}
		if caught && t.Effect == Undo && len(s.journal[v]) > 0 {
			w.fail("(1) %d of %s has failed, and its effect is left", v, u)
		}
		final := func(p int) uint64 {
			if r.tasks[p].output.Error != "" {
				return 7
			}
			return binary.BigEndian.Uint64(r.tasks[p].output.Digest[:])
		}
		var inputs []uint64
		for _, p := range s.s.parents(v) {
			inputs = append(inputs, final(int(p)))
		}
		for _, e := range s.journal[v] {
			if !slices.Equal(e.inputs, inputs) || !caught && e.answer != final(v) {
				w.fail("(1) the effect of %d of %s is %x of %x, and recorded is %x of %x", v, u, e.answer, e.inputs, final(v), inputs)
			}
		}
		if want := w.hash(Order{ID: AttemptID{Task: v}}, true, inputs); t.Deterministic && t.Effect == None && !caught && final(v) != want {
			w.fail("(1) %d of %s is %x, and %x of its inputs", v, u, final(v), want)
		}
		if r.x.sink[v] && !caught && !r.tasks[v].output.Recorded {
			p, is := w.rows[blobKey(u, v, r.tasks[v].gen)].(Places)
			if !is || p.Blob.Made != r.tasks[v].made {
				w.fail("the result %d of %s has no place: %+v", v, u, p)
			}
			for _, d := range p.Disks {
				if w.disks[d][p.Blob] != final(v) {
					w.fail("(7) the result %d of %s is %x on %s, and not %x", v, u, w.disks[d][p.Blob], d, final(v))
				}
			}
		}
	}
}
