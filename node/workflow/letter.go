package workflow

import (
	"time"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// Letter is what nodes say to each other beside the messages of controllers and executors.
type Letter interface{ letter() }

type (
	// WantRows asks the node of the controller of Epoch for recorded outputs. It is repeated until HaveRows.
	WantRows struct {
		Epoch uint64
		Keys  []string // at most MaxKeys
	}

	// HaveRows has those rows of a WantRows that are there, as far as they fit into one letter.
	HaveRows struct {
		Epoch uint64
		Rows  []OutputRow
	}

	// Request is a call of a client of another node. It is repeated, with the same number, until Reply or Elsewhere.
	Request struct {
		Number   uint64
		Patience time.Duration // how long it may wait for its Reply
		Call     core.Call     // a StartRun has no Work
		Graph    []byte        // of StartRun
	}

	// Reply answers a Request.
	Reply struct {
		Number uint64
		Answer core.Answer // without Caller
		Busy   bool        // Answer.Err is core.ErrBusy
		Again  bool        // Answer.Err says that the next controller has to be asked
	}

	// Elsewhere answers a Request to a node that does not lead.
	Elsewhere struct {
		Number     uint64
		Controller phalanx.NodeID // as far as the node knows; "": it knows none
		Epoch      uint64         // of Controller
		Disk       bool           // the node has a disk
	}

	// Withdrawn says that nobody waits for the Reply to a Request any more.
	Withdrawn struct{ Number uint64 }

	// Restore asks a node to make an object of a checkpoint on its disk again. Restored answers it.
	Restore struct {
		Number uint64
		Place  string // of the checkpoint
		Object phalanx.ObjectID
		Meta   phalanx.Meta // of the object, without its size; of an output that of bytes
	}

	// Restored says whether the object is there again. Not Done and without Failed: the node has no such checkpoint.
	Restored struct {
		Number uint64
		Done   bool
		Failed string
		Disk   string // of the node; "": it has none
		Lost   bool   // Disk does not have the checkpoint, or not its bytes: it never will
	}

	// Copy asks a node to write a checkpoint to its disk, now that its object is there. Copied answers it if it has a Number, which is not
	// zero; else the disk has lost the checkpoint, and the next node that needs it sends another one.
	Copy struct {
		Number uint64
		Place  string
		Object phalanx.ObjectID
		Size   int64
		Digest phalanx.Digest
	}

	// Copied says whether the disk of the node has the checkpoint of a Copy now.
	Copied struct {
		Number uint64
		Failed string // "": it has
	}

	// Which asks a node which of these checkpoints are on its disk. These answers it.
	Which struct {
		Number uint64
		Places []string // at most MaxPlaces
	}

	// These has those that are.
	These struct {
		Number uint64
		Disk   string // of the node; "": it has none
		Places []string
	}

	// ActorCall asks the node of an actor for something. It is repeated, with the same number, until an ActorAnswer says how it has
	// ended, and is carried out once.
	ActorCall struct {
		Number uint64
		OpenCalls
		Deed   ActorDeed
		Actor  ActorAt          // as the attempt was given it; of ActorMake and ActorRestore as it is then
		By     string           // the Prefix of the attempt, if that writes the actor; "": it reads
		Name   string           // of ActorMake and ActorRestore the kind, as name@version; of ActorDo the method, "": it only makes the next version
		As     string           // of ActorMake and ActorRestore the name of the actor
		Bytes  []byte           // the argument, or the snapshot
		Large  Ref              // an object that has them instead, if its Object is not empty
		Object phalanx.ObjectID // is made of an answer that is large, or of the snapshot
	}

	// ActorAnswer answers an ActorCall.
	ActorAnswer struct {
		Number uint64
		End    ActorEnd
		Why    string // it has ended in another way than ActorDone
		Final  bool   // it would fail again
		Bytes  []byte
		Large  Ref // an object that has them instead, if its Object is not empty
	}

	// ActorOver says that nobody waits for a call any more. It is not repeated: the next letters say the same, and a node ends a call that
	// is not repeated.
	ActorOver struct {
		Number uint64 // 0: the letter only says which calls go on
		OpenCalls
	}

	// OpenCalls says which calls of the sender to the receiver go on. Each ActorCall and each ActorOver says so.
	OpenCalls struct {
		Turn  uint64   // rises with each letter of the sender to the receiver
		Open  []uint64 // the lowest numbers of the calls that go on, sorted, at most MaxOpen
		Below uint64   // all calls with lower numbers are over, but for those in Open
	}
)

// MaxOpen bounds Open of an OpenCalls.
const MaxOpen = 512

// MaxActorBytes bounds Bytes of an ActorCall and of an ActorAnswer.
const MaxActorBytes = 64 << 10

// ActorDeed is what an ActorCall asks for.
type ActorDeed uint8

// The deeds.
const (
	ActorDo      ActorDeed = iota // call a method
	ActorMake                     // make an actor
	ActorRestore                  // make one of a snapshot
	ActorSave                     // make a snapshot, as an object
	ActorDiscard                  // forget the actor: nobody will use this version
)

// ActorEnd says how an ActorCall has ended.
type ActorEnd uint8

// The ends.
const (
	ActorWorks   ActorEnd = iota // it has not
	ActorDone                    // well
	ActorFailed                  // the actor says that it failed, and goes on
	ActorLacks                   // the node has no actors of this kind
	ActorCrashed                 // the actor is no more, by what it was doing or was about to do
	ActorGone                    // nobody can use the actor at this version any more
	ActorSilent                  // the node does not answer; no node says that of itself
)

// MaxPlaces bounds a Which.
const MaxPlaces = 500

// OutputRow is a recorded output.
type OutputRow struct {
	Key   string
	Bytes []byte
}

// MaxKeys bounds a WantRows: its answer fits into one message of the actors.
const MaxKeys = 16

func (WantRows) letter()    {}
func (HaveRows) letter()    {}
func (Request) letter()     {}
func (Reply) letter()       {}
func (Elsewhere) letter()   {}
func (Withdrawn) letter()   {}
func (Restore) letter()     {}
func (Restored) letter()    {}
func (Copy) letter()        {}
func (Copied) letter()      {}
func (Which) letter()       {}
func (These) letter()       {}
func (ActorCall) letter()   {}
func (ActorAnswer) letter() {}
func (ActorOver) letter()   {}
