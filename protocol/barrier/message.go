package barrier

import (
	"time"

	"github.com/phalanx-go/phalanx"
)

// Message is a message between nodes. It may be lost, doubled or late.
type Message interface{ message() }

type (
	// Reached has all unanswered requests of a node's participants to the primary
	// (REACHED, SEMAPHORE_REACHED, SEMAPHORE_RELEASED). One without requests asks for
	// their state.
	Reached struct {
		Key      Key
		Config   Config
		Requests []Request
		Watch    bool          // the callbacks are there
		Unwatch  bool          // and are no more
		Stamp    time.Duration // the node's clock
	}

	// Request is one participant's.
	Request struct {
		Entry   Entry
		Attempt uint64
		Release bool          // it leaves
		Holds   bool          // it was told to hold the semaphore
		Waits   bool          // it was told that it is registered, or managers that are gone may have counted it
		Ago     time.Duration // since it came to its node
		Leave   bool          // it is inside a double barrier, and leaves
	}

	// Answers is a primary's answer to a Reached, or later news (FIRE,
	// LATE_FIRE, CATCH_UP). Batch rises within the Term with every batch of changes: an
	// answer after one has a greater Batch than all before it.
	Answers struct {
		Key      Key
		Term     uint64
		Batch    uint64
		List     []Answered
		Standing Standing
		Watched  bool          // the callbacks are known to be there
		Stamp    time.Duration // the last that came from the node: the answer was true after it
		Unknown  bool          // there is no such barrier
		More     bool          // another part of the answer follows: it is long
		Field    string        // of the configuration, which differs: the participants have not entered
		// Awaits names nodes that owe the primary an answer for long: it acts on no request before. With
		// More, and no List, this says nothing else.
		Awaits []phalanx.NodeID
	}

	// Answered is for one participant.
	Answered struct {
		Entry   Entry
		Attempt uint64
		Verdict Verdict
		Left    time.Duration // how long it may hold the semaphore; 0: for ever
		Old     bool          // it is of before the barrier was removed, and for that attempt alone
	}

	// Standing is how a barrier stands.
	Standing struct {
		N, Max  int
		Absent  []string // who is not there, up to MaxAbsent: units that are expected, or else members from which no participant has entered
		Cause   Cause
		Holders []Entry  // of a semaphore, up to MaxAbsent
		Inside  []string // units that are inside a double barrier, and do not leave yet, up to MaxAbsent
	}

	// Question asks the callbacks.
	Question struct {
		Key   Key
		Term  uint64
		Asked []Asked
	}

	// Notify tells an event to the node that has the callbacks.
	Notify struct {
		Key      Key
		Term     uint64
		Happened Happened
	}

	// Reply answers a Question.
	Reply struct {
		Key Key
		Ask uint64
		Yes bool
		N   int
	}

	// WhoPassed asks the primary for the entries that were let through after After, in the order
	// in which they came, and Passed answers with a part of them. A Brief one asks only for the
	// state of the barrier.
	WhoPassed struct {
		Key   Key
		ID    uint64
		After Entry // empty: from the start
		Brief bool
	}
	Passed struct {
		Key      Key
		ID       uint64
		Term     uint64
		Known    bool  // there is such a barrier
		Over     bool  // it has fired; if it is not Known, its entries are forgotten
		After    Entry // the WhoPassed's
		Anew     bool  // these are the first ones: After is not known any more
		Last     Entry // the next part comes after this one; empty: there is none
		Hosts    map[string][]string
		Standing Standing
	}

	// Remove ends a barrier, and Removed says that it has ended. The number is greater than the
	// node's earlier ones, and is the same when it is repeated.
	Remove struct {
		Key Key
		ID  uint64
	}
	Removed struct {
		Key   Key
		ID    uint64
		Known bool // there was such a barrier
	}

	// WhoOpened asks the primary for a barrier's Config. Opened answers with it, or with none if no
	// participant has given it yet: the primary sends another Opened when one does.
	WhoOpened struct {
		Key   Key
		Stamp time.Duration // of all repeats of a question; a later question has a greater one
	}
	Opened struct {
		Key    Key
		Term   uint64
		Stamp  time.Duration // the WhoOpened's
		Config Config
		Fired  bool // it has fired, and of its Config nothing is known any more but Late
		Late   LateMode
	}

	// Replicate has a backup make the changes Ops, the batch Seq of the primary of
	// Term, after the batch Seq-1. A backup that may not have the state of that gets it too, in
	// pieces, each when the backup has confirmed the earlier ones; the changes come with the
	// last piece.
	Replicate struct {
		Key    Key
		Config Config // with the first piece
		Term   uint64
		Seq    uint64
		Stamp  time.Duration // of all pieces of one state
		State  *State        // a piece, with the items from the item From on, of Total
		From   int
		Total  int
		Ops    []Op
	}

	// Confirm says that all batches up to Seq are there; with Need that the state
	// before Seq is not, and how many of its items are. With Fired it refuses a barrier that is
	// new to the primary: it has fired, and was entered from these nodes.
	Confirm struct {
		Key   Key
		Term  uint64
		Seq   uint64
		Need  bool
		Have  int
		Stamp time.Duration // of the pieces that are there
		Fired []phalanx.NodeID
	}

	// Gather asks for all knowledge of a member about the barriers whose primary the asking
	// node is, and for the promise to heed no primary of an earlier Term. It asks for one
	// part of the answer: for the next one when the earlier ones have come.
	Gather struct {
		Term  uint64
		Stamp time.Duration // of all questions for one answer
		Said  time.Duration // of the Gathered whose parts have come; 0: none yet
		Part  int           // from 0
	}

	// Gathered is a part of the answer to a Gather.
	Gathered struct {
		Term     uint64
		Part     int
		More     bool          // it is not the last one
		Stamp    time.Duration // the Gather's
		Said     time.Duration // of all parts of one answer, about the member's clock; a later answer has a greater one
		Replicas []Held
		Reached  []Reached // of the member's participants
	}

	// Held is a replica, or a piece of one: the items of its state from the item From on, of
	// Total.
	Held struct {
		Key     Key
		Config  Config         // with the first piece
		Primary phalanx.NodeID // the maker of the last batch
		Term    uint64
		Seq     uint64
		State   State
		From    int
		Total   int
		Age     time.Duration // since the last change
	}

	// Refused says that there is a later Term.
	Refused struct{ Term uint64 }

	// Forget says that a replica is not needed any more.
	Forget struct {
		Key  Key
		Term uint64
	}
)

// MaxAbsent bounds how many are named.
const MaxAbsent = 16

func (Reached) message()   {}
func (Answers) message()   {}
func (Question) message()  {}
func (Notify) message()    {}
func (Reply) message()     {}
func (WhoPassed) message() {}
func (Passed) message()    {}
func (Remove) message()    {}
func (Removed) message()   {}
func (WhoOpened) message() {}
func (Opened) message()    {}
func (Replicate) message() {}
func (Confirm) message()   {}
func (Gather) message()    {}
func (Gathered) message()  {}
func (Refused) message()   {}
func (Forget) message()    {}

// peopled reports whether there are members on which somebody has entered.
func (s *State) peopled() bool {
	for i := range s.Entrances {
		if len(s.Entrances[i].Nodes) > 0 {
			return true
		}
	}
	return false
}

// members returns the distinct nodes of a barrier's entrances.
func (s *State) members() []phalanx.NodeID {
	seen := map[phalanx.NodeID]bool{}
	var all []phalanx.NodeID
	for _, e := range s.Entrances {
		for _, n := range e.Nodes {
			if !seen[n] {
				seen[n] = true
				all = append(all, n)
			}
		}
	}
	return all
}
