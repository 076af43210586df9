package soak

import (
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/history"
)

const (
	callDeadline   = 20 * time.Second
	answerPatience = callDeadline + 20*time.Second // until a call counts as hanging
	inlineBelow    = 64 << 10
)

// call gives a process an order about an object, notes the call and judges its
// outcome.
func (s *soak) call(p *process, o *object, r order) result {
	r.Object = o.id
	if r.Deadline == 0 {
		r.Deadline = callDeadline
	}
	res := result{process: p, order: r, begin: s.clock()}
	res.line, res.answered = p.ask(r, answerPatience)
	res.end = s.clock()
	s.counted(res)
	if err := s.judge(o, res); err != nil {
		s.fail(err)
	}
	return res
}

// op returns a call as the history takes it.
func (r result) op(c history.Call) history.Op {
	op := history.Op{Call: c, Object: r.order.Object, Node: r.process.name, Begin: r.begin, End: r.end, Version: r.Version, Outcome: r.Kind}
	if !r.answered {
		op.End = history.Never
	}
	return op
}

// put has a process put a version of an object, and returns whether it did.
func (s *soak) put(p *process, o *object, version int, r order) bool {
	r.Do, r.Seed, r.Size, r.Array = "put", seed(o.id, version), o.size, o.array
	want := hash(made(r.Seed, r.Size))
	o.begun()
	res := s.call(p, o, r)
	s.ledger.ended(o, res.ok())
	op := res.op(history.Put)
	op.Version, op.Size = want, o.size
	if r.Unsized {
		op.Size = phalanx.UnknownSize
	}
	s.record.add(op)
	if res.ok() {
		s.acked(o, p.name, res.begin, r.Copies, o.size < inlineBelow && !r.Unsized)
	}
	return res.ok()
}

// acked notes a put that began at begin and succeeded. The process can have died
// since; or its node was removed meanwhile, with the only copy, before the process
// could tell.
func (s *soak) acked(o *object, name string, begin time.Duration, copies int, durable bool) {
	s.fate.Lock()
	defer s.fate.Unlock()
	if s.faults.away[name] == leaving {
		name = anywhere
	}
	s.faults.hide(o)
	o.put(name, begin, s.clock(), copies, durable)
	if s.faults.away[name] == killed && o.died(name) {
		s.lost(o, 0)
	}
	for _, w := range s.faults.removals(begin) {
		if o.hides(w.process) {
			s.lost(o, w.from)
		}
	}
}

// lost notes that the last complete copy may be gone.
func (s *soak) lost(o *object, at time.Duration) {
	s.record.add(history.Op{Call: history.Loss, Object: o.id, Begin: at, End: history.Never})
}

// died notes the objects that can be lost with a process that is killed now.
func (s *soak) died(p *process, since time.Duration) {
	s.fate.Lock()
	defer s.fate.Unlock()
	s.faults.away[p.name] = killed
	for _, o := range s.ledger.objects() {
		if o.died(p.name) {
			s.lost(o, since)
		}
	}
}

// left notes that a process leaves: the driver does not know where its copies go.
func (s *soak) left(p *process) {
	s.fate.Lock()
	defer s.fate.Unlock()
	s.faults.away[p.name] = leaving
	for _, o := range s.ledger.objects() {
		o.left(p.name)
	}
}

// read has a process read an object as r says.
func (s *soak) read(p *process, o *object, r order) result {
	res := s.call(p, o, r)
	s.record.add(res.op(history.Get))
	return res
}

// stat has a process ask for the state of an object.
func (s *soak) stat(p *process, o *object) result {
	res := s.call(p, o, order{Do: "stat"})
	op := res.op(history.Stat)
	op.State = res.State
	s.record.add(op)
	return res
}

// remove has a process delete an object.
func (s *soak) remove(p *process, o *object) bool {
	d := o.deletes()
	res := s.call(p, o, order{Do: "delete"})
	s.record.add(res.op(history.Delete))
	s.ledger.freed(o, d, res.ok(), s.clock())
	return res.ok()
}
