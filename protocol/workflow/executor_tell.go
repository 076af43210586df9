package workflow

import (
	"maps"
	"slices"
)

// telling is the answer to the last Ask. Its parts are those of one moment: what ends meanwhile is reported by
// itself. It stays until the next Ask, since its last part may be lost.
type telling struct {
	number uint64
	parts  []Tell
}

// tell sends a part of the answer to an Ask.
func (x *Executor) tell(m Ask) {
	if m.Number < x.telling.number {
		return // a late copy
	}
	if m.Number > x.telling.number {
		x.telling = telling{m.Number, x.parts(m.Only)}
	}
	t := x.telling
	if m.Part < 0 || m.Part >= len(t.parts) {
		return
	}
	p := t.parts[m.Part]
	p.Epoch, p.Number, p.Part, p.Parts = x.epoch, m.Number, m.Part, len(t.parts)
	p.Slots, p.Functions, p.Disk = x.offer.Slots, x.offer.Functions, x.offer.Disk
	x.send(p)
	if m.Part == 0 && !m.Only.IsZero() { // the run was asleep, and the controller does not know any more who has something of it
		x.emit(Census{Only: m.Only})
	}
}

// parts returns the answer in parts of a bounded size.
func (x *Executor) parts(only UID) []Tell {
	all := []Tell{{}}
	n, bytes := 0, 0
	next := func(size int) *Tell {
		if n == mostTold || bytes+size > MaxWrite {
			all = append(all, Tell{})
			n, bytes = 0, 0
		}
		n, bytes = n+1, bytes+size
		return &all[len(all)-1]
	}
	in := func(u UID) bool { return only.IsZero() || u == only }
	for _, id := range slices.SortedFunc(maps.Keys(x.running), AttemptID.compare) {
		if in(id.Run) {
			a, t := x.running[id], next(64)
			t.Running = append(t.Running, Running{ID: id, Gen: a.order.Gen, Kind: a.order.Kind})
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(x.ended), AttemptID.compare) {
		if r := x.ended[id].report; in(id.Run) {
			r.Epoch = x.epoch
			t := next(128 + len(r.Output.Bytes) + len(r.Failed))
			t.Ended = append(t.Ended, r)
		}
	}
	for _, u := range slices.SortedFunc(maps.Keys(x.holds), UID.compare) {
		if !in(u) {
			continue
		}
		for _, b := range slices.SortedFunc(maps.Keys(x.holds[u]), Blob.compare) {
			t := next(56)
			t.Holds = append(t.Holds, b)
		}
	}
	return all
}

// compare orders checkpoints by run, task, generation and attempt.
func (b Blob) compare(c Blob) int {
	if n := b.Run.compare(c.Run); n != 0 {
		return n
	}
	switch {
	case b.Task != c.Task:
		return b.Task - c.Task
	case b.Gen != c.Gen:
		return order(uint64(b.Gen), uint64(c.Gen))
	case b.Made.Less(c.Made):
		return -1
	case c.Made.Less(b.Made):
		return 1
	}
	return 0
}
