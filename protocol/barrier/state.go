package barrier

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Phase is how far an entry has come.
type Phase uint8

// The phases.
const (
	Waiting   Phase = iota
	Through         // it goes on; of a semaphore: it holds it
	TurnedOut       // it came late, and was told to catch up
	Left            // of a semaphore: it has released it, or waits no more
	Expired         // of a semaphore: it held it for too long, or its node is gone
	Withdrawn       // before the barrier had fired
	phases
)

// Entrance is an entry that has reached the barrier.
type Entrance struct {
	Entry
	Nodes   []phalanx.NodeID // from which it came, and which are members; owned by the state
	Tries   []uint64         // the last attempt of each of them
	Attempt uint64           // the last of all
	Phase   Phase
	Late    bool
	Passed  bool          // it was let through
	Leaving bool          // it waits until all participants inside have left
	Since   time.Duration // when it came; of a semaphore: since when it is in its phase
}

// came notes that the entry came from a node, by an attempt.
func (e *Entrance) came(node phalanx.NodeID, attempt uint64) {
	if i := slices.Index(e.Nodes, node); i >= 0 {
		e.Tries[i] = max(e.Tries[i], attempt)
		return
	}
	e.Nodes, e.Tries = append(e.Nodes, node), append(e.Tries, attempt)
}

// went notes that it does not wait at a node any more.
func (e *Entrance) went(node phalanx.NodeID) {
	if i := slices.Index(e.Nodes, node); i >= 0 {
		e.Nodes, e.Tries = slices.Delete(e.Nodes, i, i+1), slices.Delete(e.Tries, i, i+1)
	}
}

// Asking is a question to a callback that has no answer yet.
type Asking struct {
	Asked
	Due time.Duration // then it is as if there were no callback
}

// State is all that a barrier has to know. It is plain data, so that it can be
// given to another replica.
type State struct {
	Now       time.Duration // of the last change
	Begun     bool          // a participant has entered
	Began     time.Duration // t0, the time of the first entry
	Units     int           // distinct ones that came before the barrier fired; of a semaphore, entries so far
	Entrances []Entrance    // in the order in which they first came
	Queue     []Entry       // entries that wait to be let through one after the other, the next one first

	Cause   Cause
	FiredAt time.Duration
	Fired   int           // units that were there
	Next    time.Duration // when the throttle lets the next ones through

	Watcher phalanx.NodeID // has the callbacks; empty: no node
	Asks    []Asking       // in the order of Due
	LastAsk uint64
	AskedAt time.Duration
	Enough  bool // Percent and MinWait have been met, and nothing is to be asked for that again

	Detector Detector
	Late     time.Duration // by how much news of an entry came later than the entry, at most
	Adaptive Adaptive
	Holders  []Entry       // of a semaphore, in the order in which they were let through
	Doubt    bool          // whether it has fired is not known: no participant passes it
	Removals []Removal     // the last of each node
	Tombs    []Tomb        // entries that had come before the barrier was removed, in order
	Anew     time.Duration // it was removed: until then, by Now, managers' records of it do not count; 0: they count
	Swept    time.Duration // when entries that had left, or had withdrawn, were last forgotten
}

// Clone returns a copy that shares nothing with s.
func (s State) Clone() State {
	s.Entrances = slices.Clone(s.Entrances)
	for i := range s.Entrances {
		s.Entrances[i].Nodes, s.Entrances[i].Tries = slices.Clone(s.Entrances[i].Nodes), slices.Clone(s.Entrances[i].Tries)
	}
	s.Queue, s.Asks, s.Holders = slices.Clone(s.Queue), slices.Clone(s.Asks), slices.Clone(s.Holders)
	s.Adaptive.Took = slices.Clone(s.Adaptive.Took)
	s.Removals, s.Tombs = slices.Clone(s.Removals), slices.Clone(s.Tombs)
	return s
}
