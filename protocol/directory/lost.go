package directory

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// A replica whose actor has panicked begins without the state that the view and
// the owner count on. It takes no part until the view has given its role away;
// then it is copied as any other, or rebuilt if no node has the state any more
// (specification 2.3).

// tellLostEvery is how often the view is asked, until it does so.
const tellLostEvery = time.Second

// lost is a replica's knowledge of the state that it does not have.
type lost struct {
	in    uint64 // the epoch in which it was lost; 0: the state is whole
	out   bool   // it takes no part
	epoch uint64 // of the view that was asked
	asked time.Duration
}

// Lost reports whether this replica takes no part, since it has lost its state
// and the view counts on that.
func (s *Shard) Lost() bool { return s.lost.out }

// takesPart looks at a new view. The next replica gets everything, if it became
// that after the state was lost; if not, it will see that (see gap).
func (s *Shard) takesPart(v Configure) bool {
	if s.lost.in == 0 {
		return true
	}
	counted := []phalanx.NodeID{v.Owner, v.Backup}
	if v.Epoch <= s.lost.in {
		counted = append(counted, v.Next)
	}
	s.lost.out = slices.Contains(counted, s.cfg.Self)
	if s.lost.out && v.LostAt > s.lost.in { // no node has it
		s.lost = lost{}
	}
	if s.lost.out {
		s.tellLost(v.Epoch)
	}
	return !s.lost.out
}

// whileLost handles an event of a replica that takes no part.
func (s *Shard) whileLost(ev Event) {
	switch ev := ev.(type) {
	case Lease:
		s.leased = max(s.leased, ev.Until)
	case Tick:
		s.tellLost(s.lost.epoch)
	}
}

// gap looks at a part of a stream whose beginning this replica does not have.
func (s *Shard) gap(r Replicate) {
	if s.lost.in != 0 && r.Stream <= s.lost.in {
		s.tellLost(r.Epoch)
	}
}

func (s *Shard) tellLost(epoch uint64) {
	if s.lost.epoch == epoch && s.now-s.lost.asked < tellLostEvery {
		return
	}
	s.lost.epoch, s.lost.asked = epoch, s.now
	s.emit(LostState{Epoch: epoch})
}
