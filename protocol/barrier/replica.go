package barrier

import (
	"cmp"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/agenda"
)

// replica is what a node knows of a barrier.
type replica struct {
	key     Key
	b       *Barrier
	term    uint64         // of the primary that made the last batch
	seq     uint64         // of the last batch that b has
	primary phalanx.NodeID // who made it
	base    time.Duration  // the barrier's clock at began
	began   time.Duration
	touched time.Duration // when it was last changed

	// Of the primary alone.
	made    uint64                           // batches since began
	stamps  map[phalanx.NodeID]time.Duration // the last of each node
	pending []Op                             // to be made
	flight  []Op                             // on their way to the backups, as batch seq+1; nil: none
	stamp   time.Duration                    // of this batch
	flew    time.Duration                    // when it was sent first
	sent    time.Duration
	lacks   map[phalanx.NodeID]bool // backups that have not confirmed the batch
	has     map[phalanx.NodeID]bool // backups that have the state of this term
	copied  map[phalanx.NodeID]int  // of the others, how many items of it they have
	spare   []phalanx.NodeID        // who has a replica and is no backup any more
	closed  bool                    // it rests in shelf.closed
	rests   int                     // entries that are counted as remembered; 0: it does not rest
	tries   int                     // how often the batch was sent
	woken   bool                    // it is in shelf.woken
}

// clock is the barrier's clock.
func (r *replica) clock(now time.Duration) time.Duration { return r.base + now - r.began }

// batch is the number of the last batch that the primary has acted on. It rises within a term,
// also if the barrier was forgotten meanwhile, or the primary's Core is another one: a batch
// takes longer than the nanosecond by which it raises the time at which it began.
func (r *replica) batch() uint64 { return uint64(r.began) + r.made }

// over reports whether nobody waits for anything of the barrier. One whose callbacks are there
// waits for those who enter.
func (r *replica) over() bool {
	b := r.b
	if b.cfg.Semaphore.on() {
		return len(b.Holders)+len(b.Queue)+len(b.Asks) == 0
	}
	return b.Cause != NotFired && len(b.Queue) == 0 || len(b.State.members()) == 0 && b.Watcher == ""
}

// shelf is where a node has its replicas.
type shelf struct {
	replicas    map[Key]*replica
	named       map[string][]Key   // generations, in the order in which they came
	active      map[Key]bool       // whose primary this node is, and that are not over
	woken       []*replica         // of them, those of which there may be something to be done now
	replicasDue agenda.Agenda[Key] // and when the others are looked at
	resting     []rest             // those that are over, longest first
	emptied     []rest             // and those of which all have withdrawn
	closed      []rest             // those whose entries are forgotten
	closers     int                // how many these are, at most as many as remember
	resters     int                // entries of the others
	remember    int                // how many of them there may be: with more, those of the barriers that have been over for longest are forgotten
	swept       time.Duration      // when replicas of others that nobody needs were looked for
}

// rest is a barrier that was over at a time.
type rest struct {
	key Key
	at  time.Duration
}

// restFor is how long a barrier that is over is remembered whatever others there are.
const restFor = 10 * time.Second

func newShelf(remember int) shelf {
	return shelf{remember: remember, replicas: map[Key]*replica{}, named: map[string][]Key{}, active: map[Key]bool{}}
}

func (s *shelf) put(r *replica) {
	if old := s.replicas[r.key]; old != nil {
		s.unrest(old)
	} else {
		s.named[r.key.Name] = append(s.named[r.key.Name], r.key)
	}
	s.replicas[r.key] = r
}

func (s *shelf) remove(k Key) {
	r := s.replicas[k]
	if r == nil {
		return
	}
	s.hand(r)
	delete(s.replicas, k)
	left := slices.DeleteFunc(s.named[k.Name], func(x Key) bool { return x == k })
	if s.named[k.Name] = left; len(left) == 0 {
		delete(s.named, k.Name)
	}
}

// wake takes note that there is something to be done of r, whose primary this node
// is.
func (s *shelf) wake(r *replica) {
	s.active[r.key] = true
	s.unrest(r)
	if !r.woken {
		r.woken = true
		s.woken = append(s.woken, r)
	}
}

// current reports whether something may be to be done of r still.
func (s *shelf) current(r *replica) bool { return s.replicas[r.key] == r && s.active[r.key] }

// hand takes note that this node is not the primary of r.
func (s *shelf) hand(r *replica) {
	s.unrest(r)
	delete(s.active, r.key)
	s.replicasDue.Cancel(r.key)
}

// lie takes note that there is nothing more to be done of r.
func (s *shelf) lie(r *replica, now time.Duration) {
	delete(s.active, r.key)
	s.replicasDue.Cancel(r.key)
	if r.b.Closed {
		r.rests, r.closed = max(1, len(r.b.Entrances)), true
		s.closers += r.rests
		s.closed = append(s.closed, rest{r.key, now})
		return
	}
	r.rests = max(1, len(r.b.Entrances))
	s.resters += r.rests
	if r.b.empty() {
		s.emptied = append(s.emptied, rest{r.key, now})
		return
	}
	s.resting = append(s.resting, rest{r.key, now})
}

// unrest takes note that r does not rest.
func (s *shelf) unrest(r *replica) {
	if r.closed {
		s.closers -= r.rests
	} else {
		s.resters -= r.rests
	}
	r.rests, r.closed = 0, false
}

// before returns the generation of a name before which all are over, and some forgotten.
func (s *shelf) before(name string) uint64 {
	g := uint64(0)
	for _, k := range s.named[name] {
		g = max(g, s.replicas[k].b.Before)
	}
	return g
}

// forgotten returns the next barrier that was over for so long, if there is one; or one whose
// entries there is no more room to remember: with close, it is remembered that it is over.
func (s *shelf) forgotten(now, linger time.Duration) (r *replica, close bool) {
	for len(s.emptied) > 0 && now-s.emptied[0].at > restFor {
		first := s.emptied[0]
		s.emptied = s.emptied[1:]
		if r := s.rested(first); r != nil {
			return r, false
		}
	}
	for len(s.closed) > 0 && (now-s.closed[0].at > linger || s.closers > s.remember) {
		first := s.closed[0]
		s.closed = s.closed[1:]
		if r := s.rested(first); r != nil {
			return r, false
		}
	}
	for len(s.resting) > 0 {
		first := s.resting[0]
		if now-first.at <= linger && (s.resters <= s.remember || now-first.at <= restFor) {
			return nil, false
		}
		s.resting = s.resting[1:]
		if r := s.rested(first); r != nil {
			return r, now-first.at <= linger && r.b.Cause != NotFired
		}
	}
	return nil, false
}

// rested returns the barrier that was over then, if it still is.
func (s *shelf) rested(x rest) *replica {
	if r := s.replicas[x.key]; r != nil && r.rests > 0 && r.touched <= x.at {
		return r
	}
	return nil
}

// keys returns all in order.
func (s *shelf) keys() []Key { return sorted(s.replicas) }

func sorted[V any](m map[Key]V) []Key {
	all := make([]Key, 0, len(m))
	for k := range m {
		all = append(all, k)
	}
	slices.SortFunc(all, compareKeys)
	return all
}

func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Generation, b.Generation))
}
