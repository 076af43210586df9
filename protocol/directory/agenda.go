package directory

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// agenda says when a Tick has to look at which object, so that a Tick costs
// nothing while nothing waits for time to pass, however many objects there are.
// Appointments are never late; an early one does no harm.
type agenda []appointment

type appointment struct {
	at time.Duration
	id phalanx.ObjectID
}

var _ heap.Interface = (*agenda)(nil)

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, j int) bool { return a[i].at < a[j].at }
func (a agenda) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)        { *a = append(*a, x.(appointment)) }
func (a *agenda) Pop() any {
	last := len(*a) - 1
	x := (*a)[last]
	(*a)[last] = appointment{}
	*a = (*a)[:last]
	return x
}

// Due returns when the next Tick has something to do, as far as is known now;
// false if nothing waits for time to pass.
func (s *Shard) Due() (time.Duration, bool) {
	at, ok := time.Duration(0), false
	sooner := func(t time.Duration) {
		if !ok || t < at {
			at, ok = t, true
		}
	}
	if s.lost.out {
		sooner(s.lost.asked + tellLostEvery)
	}
	for _, st := range s.sortedStreams() {
		if st.sent > st.confirmed {
			sooner(st.again)
		}
		if st.caughtUp && st.to == s.view.Next {
			sooner(st.told + repeatEvery)
		}
	}
	if s.acts() && len(s.agenda) > 0 {
		sooner(s.agenda[0].at)
	}
	return at, ok
}

// stir notes that something may have changed about o.
func (s *Shard) stir(o *object) {
	o.news = true
	if !o.stirred {
		o.stirred = true
		s.stirred = append(s.stirred, o)
	}
}

// arrange makes appointments for the objects that were stirred. An older one
// that is now too early stays.
func (s *Shard) arrange() {
	for i, o := range s.stirred {
		s.stirred[i], o.stirred = nil, false
		if s.owner() && !s.acts() && !o.unseen {
			o.unseen = true
			s.unseen = append(s.unseen, o)
		}
		if s.objects[o.rec.Object] != o || s.bury(o) || !s.owner() {
			continue
		}
		if at, ok := s.dueAt(o); ok && (!o.booked || at < o.meets) {
			o.booked, o.meets = true, at
			heap.Push(&s.agenda, appointment{at, o.rec.Object})
		}
	}
	s.stirred = s.stirred[:0]
}

// met takes the objects whose time has come off the agenda, in the order of
// their ids.
func (s *Shard) met() []*object {
	var out []*object
	for len(s.agenda) > 0 && s.agenda[0].at <= s.now {
		a := heap.Pop(&s.agenda).(appointment)
		o := s.objects[a.id]
		if t, ok := s.tombstones[a.id]; ok && t.expires == a.at {
			o = s.exhume(a.id)
		}
		if o != nil && o.booked && o.meets == a.at {
			o.booked = false
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *object) int { return cmp.Compare(a.rec.Object, b.rec.Object) })
	return out
}

// dueAt returns when attend has something to do for o.
func (s *Shard) dueAt(o *object) (time.Duration, bool) {
	if s.idle(o) || o.news && (o.rec.Copies > 1 || len(o.orders)+len(o.awaiting) > 0) {
		return s.now, true
	}
	at, ok := time.Duration(0), false
	sooner := func(t time.Duration) {
		if !ok || t < at {
			at, ok = t, true
		}
	}
	if o.rec.State == Deleted {
		sooner(o.expires)
	}
	if o.weed != 0 {
		sooner(o.weed)
	}
	for _, p := range o.pushes {
		sooner(p.sent + repeatEvery)
	}
	for _, w := range o.watchers {
		if w.acked < w.last.Version {
			sooner(w.told.At(watchPauses))
		}
	}
	for _, l := range o.leases {
		sooner(max(l.heard+leaseQuiet, l.asked+askEvery))
		if h := o.holder(l.receiver); h != nil && h.wasMoved && h.moved+moveEvery > s.now && s.dragged(o, l) {
			sooner(h.moved + moveEvery)
		}
	}
	for _, c := range o.orders {
		sooner(c.sent + copyRepeat)
		if patient := c.ordered + o.patience(c); patient > s.now {
			sooner(patient)
		}
	}
	for _, b := range o.bars {
		if b.until > s.now {
			sooner(b.until)
		}
		sooner(b.forget)
	}
	for _, e := range o.over {
		sooner(e.until)
	}
	if a := o.accused; a != nil {
		sooner(min(a.since+checkPatience, a.began+checkLimit))
		for _, q := range a.asked {
			if !q.over {
				sooner(q.sent.At(checkPauses))
			}
		}
	}
	return at, ok
}

// attend does the work that is due for o.
func (s *Shard) attend(o *object) {
	if o.rec.State == Deleted && o.expires <= s.now && o.change == nil && len(o.pushes) == 0 {
		s.commit(o, Record{Object: o.rec.Object}, func() { s.notify(o) })
	}
	s.weedOut(o)
	s.repeatPushes(o)
	s.repeatWatches(o)
	s.askLeases(o)
	s.recheck(o)
	s.relieve(o)
	s.keepCopies(o)
	if n := len(o.bars); n > 0 {
		o.bars = slices.DeleteFunc(o.bars, func(b bar) bool { return b.forget <= s.now })
		s.serve(o)
	}
	o.over = slices.DeleteFunc(o.over, func(e ended) bool { return e.until <= s.now })
	if s.idle(o) {
		s.remove(o.rec.Object)
	}
}
