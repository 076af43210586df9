package barrier

import (
	"cmp"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/agenda"
	repl "github.com/phalanx-go/phalanx/protocol/replica"
)

// replica is a node's knowledge of a barrier.
type replica struct {
	repl.Copy
	key     Key
	b       *Barrier
	base    time.Duration // the barrier's clock at began
	began   time.Duration
	touched time.Duration // when it was last changed

	// Of the primary alone.
	made    uint64                           // batches since began
	stamps  map[phalanx.NodeID]time.Duration // the last of each node
	pending []Op                             // to be made
	flight  []Op                             // on their way to the backups, as batch Seq+1; nil: none
	backups repl.Backups
	spare   []phalanx.NodeID // nodes that have a replica and are no backups any more
	woken   bool             // it is in shelf.woken
	weight  int              // in shelf.weight
}

// begins reports whether a participant is about to enter, or to watch.
func (r *replica) begins() bool {
	starts := func(op Op) bool { return op.Kind == OpEnter || op.Kind == OpWatch }
	return slices.ContainsFunc(r.flight, starts) || slices.ContainsFunc(r.pending, starts)
}

// next is the version that the replica has when the changes on their way are made.
func (r *replica) next(term uint64) repl.Version { return repl.Version{Term: term, Seq: r.Seq + 1} }

// clock is the barrier's clock.
func (r *replica) clock(now time.Duration) time.Duration { return r.base + now - r.began }

// batch is the number of the last batch that the primary has acted on. It rises within a term,
// also if the barrier was forgotten meanwhile, or the primary's Core is another one: a batch
// takes longer than the nanosecond by which it raises the time at which it began.
func (r *replica) batch() uint64 { return uint64(r.began) + r.made }

// shelf is where a node has its replicas.
type shelf struct {
	replicas    map[Key]*replica
	named       map[string][]Key   // generations, in the order in which they came
	active      map[Key]bool       // whose primary this node is, and that are not over
	woken       []*replica         // replicas that may have work that is due
	replicasDue agenda.Agenda[Key] // and when the others are looked at
	restsDue    agenda.Agenda[Key] // when replicas of barriers that are over are forgotten
	weight      int                // of all replicas, in bytes
	most        int                // replicas that there were since the maps were made
	swept       time.Duration      // when this node last looked for unneeded replicas of others
}

func newShelf() shelf {
	return shelf{replicas: map[Key]*replica{}, named: map[string][]Key{}, active: map[Key]bool{}}
}

func (s *shelf) put(r *replica) {
	s.restsDue.Cancel(r.key)
	if old := s.replicas[r.key]; old != nil {
		s.weight -= old.weight
	} else {
		s.named[r.key.Name] = append(s.named[r.key.Name], r.key)
	}
	s.replicas[r.key] = r
	s.most = max(s.most, len(s.replicas))
	r.weight = 0
	s.weigh(r)
}

func (s *shelf) remove(k Key) {
	r := s.replicas[k]
	if r == nil {
		return
	}
	s.hand(r)
	s.weight -= r.weight
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
	s.restsDue.Cancel(r.key)
	if !r.woken {
		r.woken = true
		s.woken = append(s.woken, r)
	}
}

// current reports whether something may be to be done of r still.
func (s *shelf) current(r *replica) bool { return s.replicas[r.key] == r && s.active[r.key] }

// hand takes note that this node is not the primary of r.
func (s *shelf) hand(r *replica) {
	s.restsDue.Cancel(r.key)
	delete(s.active, r.key)
	s.replicasDue.Cancel(r.key)
}

// lie takes note that r is over, and is to be forgotten at a time.
func (s *shelf) lie(r *replica, until time.Duration) {
	delete(s.active, r.key)
	s.replicasDue.Cancel(r.key)
	s.restsDue.Set(r.key, until)
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
