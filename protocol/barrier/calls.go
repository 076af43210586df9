package barrier

import (
	"time"

	"github.com/phalanx-go/phalanx"
)

// CallKind is a kind of call.
type CallKind uint8

// The calls of an application to its node.
const (
	CallEnter    CallKind = iota // Done when the entry is let through, or cannot be
	CallRelease                  // of a semaphore; Done when its slot is free
	CallWatch                    // has the callbacks of the barrier called here; Done when the primary knows
	CallFree                     // with an Attempt: it is taken back; answered by Freed
	CallUnwatch                  // takes that back; Done at once
	CallHosts                    // Done with the hosts that were let through
	CallStanding                 // Done with how the barrier stands
	CallRemove                   // ends the barrier; Done when no entry waits in it any more
	CallLeave                    // of a double barrier; Done when all participants inside leave, too
	CallConfig                   // Done with the Config, once a participant has given it; with a Config: that one was refused
)

// Call is a call of an application. One Done with its ID answers it, unless it is given
// up.
type Call struct {
	ID       uint64
	Kind     CallKind
	Key      Key
	Config   Config
	Entry    Entry
	Deadline time.Duration // when it will be given up; 0: not known
	Again    bool          // an earlier instance of the Core took it: managers may know the entry
	// Attempt says that, before the Core was made anew, this node was told that the entry holds the semaphore
	// by this attempt, or took the attempt back. The call is not answered.
	Attempt uint64
}

// GiveUp ends a call. A caller that waited for a semaphore stops waiting. A participant of another
// barrier withdraws, and hears the outcome: GivenUp, or Done if the barrier had fired.
// A second GiveUp does not wait for it.
type GiveUp struct{ ID uint64 }

// Replied is a callback's answer to a Callback.
type Replied struct {
	Key Key
	Ask uint64
	Yes bool
	N   int
}

func (Call) event()    {}
func (GiveUp) event()  {}
func (Replied) event() {}

type (
	// Done answers a Call.
	Done struct {
		ID      uint64
		Verdict Verdict
		Outcome Outcome
		Field   string // of the configuration, in which the others' Config differs; with Mismatch
		Term    uint64
		Batch   uint64 // of Term: with it, it rises from holder to holder of a semaphore of one
		Attempt uint64 // of an entry
		Hosts   map[string][]string
		Last    Standing // the last that is known
		Config  Config   // that the barrier goes by; of a CallConfig
	}

	// GivenUp answers a GiveUp, with the known reason for its wait.
	GivenUp struct {
		ID      uint64
		Primary phalanx.NodeID
		Heard   bool // the primary has answered, and not let it through
		Last    Standing
		Awaits  []phalanx.NodeID // nodes for which the primary waits: it acts on no request before they answer
		// Unleased says that this node is the primary, and that it has no lease and does not act.
		Unleased bool
		Frees    uint64 // the attempt that is taken back until Freed; 0: none
		// Withdrawn says that it has not entered: the barrier had not fired, and does not
		// count it.
		Withdrawn bool
		Leaves    bool // it was a CallLeave
		// Unopened says that no participant has given the barrier's Config, or that no answer to the
		// question for it has come. The caller has not entered then.
		Unopened bool
	}

	// Callback asks the application.
	Callback struct {
		Key   Key
		Asked Asked
	}

	// Notice tells the application where the callbacks are.
	Notice struct {
		Key      Key
		Happened Happened
	}

	// Freed says that the primary knows that the entry is taken back: it does not hold the semaphore, or has
	// withdrawn, unless the barrier had fired with it.
	Freed struct {
		Key   Key
		Entry Entry
	}

	// Lost says that a semaphore was taken from an entry that was let through here.
	Lost struct {
		Key   Key
		Entry Entry
	}
)

// Outcome is how a call has ended.
type Outcome uint8

// The outcomes.
const (
	OK          Outcome = iota
	NotHeld             // a release of a semaphore that the entry does not hold
	HeldAlready         // the entry holds the semaphore already, or waits for it
	Unknown             // no participant has entered such a barrier
	Leaves              // of a double barrier: the entry leaves it, and can enter it when it has
	Forgotten           // it has fired, and its entries are not known any more
)

func (Done) output()     {}
func (GivenUp) output()  {}
func (Callback) output() {}
func (Notice) output()   {}
func (Lost) output()     {}
func (Freed) output()    {}
