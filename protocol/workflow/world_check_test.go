package workflow

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"time"
)

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
		if w.happen(); w.r.IntN(100) == 0 { // some sleep for minutes
			w.now += time.Duration(w.r.IntN(10)) * time.Second
		}
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
			text += fmt.Sprintf("\n    %d facts %06b want %v %+v", v, h.run.x.facts[v], h.wants(v), h.run.x.Tasks[v])
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
		"unacked": len(c.unacked), "locks": len(c.locked), "strays": len(c.strays), "waiting": c.place.waiting.Len(), "bytes": c.bytes, "recorded": len(c.recorded), "writes": len(c.written)}
	for _, p := range c.place.pools {
		left["lines"] += len(p.lines) + len(p.late)
	}
	left["limits"] = len(c.limits.all) + len(c.limits.changed)
	for _, m := range c.members {
		left["limited"] += len(m.limited)
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
		if len(k) > 7 && (k[:7] == "active/" || k[:7] == "waiting" || k[:5] == "wake/") {
			left["rows "+k]++
		}
	}
	for what, n := range left {
		if n != 0 {
			w.fail("(12) left at the end: %d %s", n, what)
		}
	}
}

// checkLimit checks that no more attempts run on members than a limit says. Those of a node that was removed go on for a
// while.
func (w *world) checkLimit(by Limit) {
	n := 0
	for _, m := range w.members() {
		for _, j := range m.jobs {
			if taskOf(j.o).Limit == by {
				n++
			}
		}
	}
	if by.Name != "" {
		w.met[fmt.Sprintf("%d of the limit %s", n, by.Name)]++
		if n > by.Most {
			w.fail("%d attempts of the limit %+v run", n, by)
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
	for v, all := range s.journal {
		if len(all) > 0 && !r.has(v) {
			w.fail("(1) the effect of %d of %s is left, which was dropped", v, u)
		}
	}
	w.met["went back"] += min(1, len(r.failing))
	for _, v := range r.x.line() {
		t := r.x.Tasks[v]
		if r.failing != "" {
			stays := t.Effect == Idempotent
			r.x.below(v, func(b int) {
				stays = stays || r.x.Tasks[b].Effect == Idempotent && r.x.facts[b]&begun != 0
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
		if t.Event != "" {
			w.met["event"]++
			if id, is := w.taken[signalOf{u, t.Event}]; is && id != string(r.tasks[v].output.Bytes) {
				w.fail("(2) the signal of %d of %s is %q, and %q was acknowledged", v, u, r.tasks[v].output.Bytes, id)
			}
		}
		final := func(p int) uint64 {
			p = r.Maker(p)
			if o := r.tasks[p].output; r.x.Tasks[p].Event != "" {
				return binary.BigEndian.Uint64(o.Bytes)
			}
			if r.tasks[p].output.Error != "" {
				return 7
			}
			return binary.BigEndian.Uint64(r.tasks[p].output.Digest[:])
		}
		var inputs []uint64
		for _, p := range r.x.parents(v) {
			inputs = append(inputs, final(int(p)))
		}
		for _, e := range s.journal[v] {
			if !slices.Equal(e.inputs, inputs) || !caught && !r.x.expanded(v) && e.answer != final(v) {
				w.fail("(1) the effect of %d of %s is %x of %x, and recorded is %x of %x", v, u, e.answer, e.inputs, final(v), inputs)
			}
		}
		if want := w.hash(Order{ID: AttemptID{Task: v}}, true, inputs); t.Deterministic && t.Effect == None && !t.waits() && !caught && !r.x.expanded(v) && final(v) != want {
			w.fail("(1) %d of %s is %x, and %x of its inputs", v, u, final(v), want)
		}
		if v := r.Maker(v); r.isResult(v) && !caught && !r.tasks[v].output.Recorded {
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
