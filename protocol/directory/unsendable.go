package directory

import (
	"slices"

	"github.com/phalanx-go/phalanx"
)

// Unsendable tells that Effect of this replica can never be sent: it is too long, or
// the schema has no room for it. Requests that wait for it fail, and all others go on.
// Requests are weighed before they change anything, so this is the second line: without
// it one message that was weighed wrongly would hold its shard up for ever.
type Unsendable struct {
	Effect Effect
	Text   string
}

func (Unsendable) event() {}

func (s *Shard) unsendable(u Unsendable) {
	if !s.owner() {
		return
	}
	switch e := u.Effect.(type) {
	case Push:
		s.unsendablePush(e, u.Text)
	case Readiness:
		if o := s.objects[e.Object]; o != nil {
			o.watchers = slices.DeleteFunc(o.watchers, func(w *watcher) bool { return w.to == e.To && w.num == e.Num })
			s.stir(o)
		}
	case SendReplicate:
		s.unsendableChanges(e, u.Text)
	}
}

// unsendablePush gives up an order. With an order to copy it gives up all others of that
// object, which would be as long, and turns away the requests that wait for copies.
func (s *Shard) unsendablePush(p Push, text string) {
	o := s.objects[p.Object]
	if o == nil {
		return
	}
	s.stir(o)
	o.pushes = slices.DeleteFunc(o.pushes, func(q *push) bool { return q.To == p.To && q.Seq == p.Seq })
	if a := o.accused; p.Order == PushCheck && a != nil && a.gen == p.Gen {
		if q := a.question(p.To); q != nil && !q.over {
			q.over = true
			s.examine(o)
		}
	}
	if p.Order != PushCopy || p.Gen != o.rec.Gen {
		return
	}
	o.uncopied, o.orders = &uncopied{p.Gen, text}, nil
	waiting := o.awaiting
	o.awaiting = nil
	for _, r := range waiting {
		s.rejectUncopied(o, r)
	}
}

// uncopied is a generation that no node can be told to copy.
type uncopied struct {
	gen  phalanx.Generation
	text string
}

// isUncopied reports whether no node can be told to copy the present generation.
func (o *object) isUncopied() bool { return o.uncopied != nil && o.uncopied.gen == o.rec.Gen }

func (s *Shard) rejectUncopied(o *object, r Request) {
	s.reject(r, o, phalanx.ErrInvalid, "the owner can order no node to make a copy of %s: %s", o.rec.Object, o.uncopied.text)
}

// unsendableChanges finds the change that cannot be sent. The replica gets the record as
// it was instead, and the request that wanted the change is turned away.
func (s *Shard) unsendableChanges(r SendReplicate, text string) {
	st := s.streams[r.To]
	if st == nil || r.Epoch != s.view.Epoch || r.Stream != st.began || r.First <= st.confirmed || r.First > st.end() {
		return
	}
	id := r.Changes[0].Record.Object
	switch o := s.objects[id]; {
	case len(r.Changes) > 1:
		st.singly = max(st.singly, r.First+uint64(len(r.Changes))-1)
	case id == "": // the end of a snapshot
		return
	case o != nil && o.change != nil && o.change.seqs[st.to] == r.First:
		as := Change{Record: o.rec}
		if o.change.failed != "" { // the record as it was is as bad, from when there was no replica
			as.Record = Record{Object: id}
		}
		o.change.failed = text
		for _, other := range s.sortedStreams() {
			if seq := o.change.seqs[other.to]; seq >= other.base {
				other.log[seq-other.base] = as
				s.sendAgain(other)
			}
		}
		return
	default: // from before there was a replica: the others are copied without it
		st.log[r.First-st.base] = Change{Record: Record{Object: id}}
	}
	s.sendAgain(st)
}

func (s *Shard) sendAgain(st *stream) {
	st.goBack()
	if st.probing {
		s.sendBatch(st)
	}
	s.pump(st, false)
}
