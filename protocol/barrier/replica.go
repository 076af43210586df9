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
	sent    time.Duration
	lacks   map[phalanx.NodeID]bool // backups that have not confirmed the batch
	has     map[phalanx.NodeID]bool // backups that have the state of this term
	spare   []phalanx.NodeID        // who has a replica and is no backup any more
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

// over reports whether nobody waits for anything of the barrier.
func (r *replica) over() bool {
	b := r.b
	if b.cfg.Semaphore.on() {
		return len(b.Holders)+len(b.Queue)+len(b.Asks) == 0
	}
	return b.Cause != NotFired && len(b.Queue) == 0 || len(b.State.members()) == 0
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
	resters     int                // entries of these
	remember    int                // how many of them there may be: with more, the barriers that have been over for longest are forgotten
	forgot      map[string]uint64  // by name: the generation before which all are over, and some forgotten
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
	return shelf{remember: remember, replicas: map[Key]*replica{}, named: map[string][]Key{}, forgot: map[string]uint64{}, active: map[Key]bool{}}
}

func (s *shelf) put(r *replica) {
	if old := s.replicas[r.key]; old != nil {
		s.resters -= old.rests
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
	s.resters -= r.rests
	r.rests = 0
	if !r.woken {
		r.woken = true
		s.woken = append(s.woken, r)
	}
}

// current reports whether something may be to be done of r still.
func (s *shelf) current(r *replica) bool { return s.replicas[r.key] == r && s.active[r.key] }

// hand takes note that this node is not the primary of r.
func (s *shelf) hand(r *replica) {
	s.resters -= r.rests
	r.rests = 0
	delete(s.active, r.key)
	s.replicasDue.Cancel(r.key)
}

// lie takes note that there is nothing more to be done of r.
func (s *shelf) lie(r *replica, now time.Duration) {
	delete(s.active, r.key)
	s.replicasDue.Cancel(r.key)
	r.rests = max(1, len(r.b.Entrances))
	s.resters += r.rests
	if r.b.empty() {
		s.emptied = append(s.emptied, rest{r.key, now})
		return
	}
	s.resting = append(s.resting, rest{r.key, now})
}

// forgotten returns the next barrier that was over for so long, or that there is no
// more room to remember, if there is one.
func (s *shelf) forgotten(now, linger time.Duration) *replica {
	for len(s.emptied) > 0 && now-s.emptied[0].at > restFor {
		first := s.emptied[0]
		s.emptied = s.emptied[1:]
		if r := s.replicas[first.key]; r != nil && r.rests > 0 && r.touched <= first.at {
			return r
		}
	}
	for len(s.resting) > 0 {
		first := s.resting[0]
		if now-first.at <= linger && (s.resters <= s.remember || now-first.at <= restFor) {
			return nil
		}
		s.resting = s.resting[1:]
		if r := s.replicas[first.key]; r != nil && r.rests > 0 && r.touched <= first.at {
			return r
		}
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
