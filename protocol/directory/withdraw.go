package directory

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/retry"
)

const (
	checkPatience = 10 * time.Second // until another holder is asked too; and for so long after a wrong accusation the next ones do not count
	checkLimit    = 10 * time.Minute // until an accusation is given up
)

// checkPauses are until a question to a holder is repeated.
var checkPauses = retry.Pauses{First: time.Second, Most: 30 * time.Second}

// accusation is a node's report about the bytes of a generation: each piece is as its
// origin made it, and their digest is not the recorded one (3.4). The owner asks holders of
// complete copies to look at theirs. To look at a large object takes long, so it asks
// another holder after a while, and the first digest that comes decides. No request waits
// for that: until a holder finds the recorded digest wrong, the object stays as it was.
type accusation struct {
	gen   phalanx.Generation
	by    phalanx.NodeID
	asked []*question
	began time.Duration
	since time.Duration // when a holder to ask was looked for last
}

// question is the question to one holder.
type question struct {
	to   phalanx.NodeID
	sent retry.Backoff
	over bool // it was answered, or cannot be sent
}

// question returns the question to n, or nil.
func (a *accusation) question(n phalanx.NodeID) *question {
	for _, q := range a.asked {
		if q.to == n {
			return q
		}
	}
	return nil
}

// open reports whether any question was not answered.
func (a *accusation) open() bool {
	return slices.ContainsFunc(a.asked, func(q *question) bool { return !q.over })
}

// corrupt takes an accusation. One accuser is not believed: only its own copy goes. An
// accusation that comes twice, or late, says nothing about the copy that the accuser has
// got since.
func (s *Shard) corrupt(o *object, r Request, c Corrupt) {
	if o.rec.State != Finished || o.rec.Gen != c.Gen || o.rec.Digest == c.Digest || o.again(r) {
		s.reply(r, s.known(o))
		return
	}
	o.stale(r) // from now on older reports are
	if h := o.holder(r.From); h != nil {
		if h.complete { // it had told that this copy is right
			s.pushGen(o, h.node, PushAbort, c.Gen)
		}
		o.unlist(r.From)
	}
	if o.accused == nil && s.now >= o.cleared {
		o.accused = &accusation{gen: c.Gen, by: r.From, began: s.now}
		s.examine(o)
	}
	s.reply(r, s.known(o))
	s.checkLost(o)
	s.serve(o)
	s.notify(o)
	s.keepCopies(o)
}

// examine asks the next holder of a complete copy. If there is none that was not
// asked yet, and all have answered, the accusation comes to nothing.
func (s *Shard) examine(o *object) {
	a := o.accused
	a.since = s.now
	for _, h := range o.holders {
		if h.complete && h.gen == a.gen && h.node != a.by && a.question(h.node) == nil {
			q := &question{to: h.node}
			a.asked = append(a.asked, q)
			s.askCheck(o, q)
			return
		}
	}
	if !a.open() {
		o.accused = nil
	}
}

func (s *Shard) askCheck(o *object, q *question) {
	q.sent.Sent(s.now)
	s.emit(Push{To: q.to, Seq: s.nextPush(), Object: o.rec.Object, Order: PushCheck, Gen: o.accused.gen,
		Meta: o.rec.Meta, Digest: o.rec.Digest})
}

// checked takes a holder's finding about its own bytes.
func (s *Shard) checked(o *object, r Request, c Checked) {
	var q *question
	if a := o.accused; a != nil && a.gen == c.Gen && a.gen == o.rec.Gen && o.rec.State == Finished {
		q = a.question(r.From)
	}
	switch {
	case q == nil || q.over: // r.From was not asked, or answers again
	case c.Digest.IsZero(): // r.From has no copy, or its copy had changed in memory
		q.over = true
		s.examine(o)
	case c.Digest == o.rec.Digest:
		o.accused, o.cleared = nil, s.now+checkPatience
	default:
		s.withdraw(o, r)
		return
	}
	s.reply(r, s.known(o))
}

// withdraw drops every copy of a generation whose bytes do not have the digest that
// was recorded for it; the id is free.
func (s *Shard) withdraw(o *object, r Request) {
	o.accused = nil
	s.release(o, 0, func() {
		o.lost = false
		s.reply(r, s.known(o))
	})
}

// recheck goes on with an accusation as time passes, and forgets one of a generation
// that is gone.
func (s *Shard) recheck(o *object) {
	switch a := o.accused; {
	case a == nil:
		return
	case a.gen != o.rec.Gen || o.rec.State != Finished || s.now-a.began >= checkLimit:
		o.accused = nil
		return
	case s.now-a.since >= checkPatience:
		s.examine(o)
	}
	if o.accused == nil {
		return
	}
	for _, q := range o.accused.asked {
		if !q.over && s.now >= q.sent.At(checkPauses) {
			s.askCheck(o, q)
		}
	}
}
