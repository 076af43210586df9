package directory

import (
	"time"

	"github.com/phalanx-go/phalanx"
)

// Request asks the owner about one object. (From, Num) identifies it: a
// repeated request gets the same answer again and changes nothing more.
type Request struct {
	From   phalanx.NodeID
	Num    uint64 // chosen by From, never reused by that incarnation; the numbers of Announce, Done, Drop and Evict rise
	Object phalanx.ObjectID
	Body   Body
	Epoch  uint64 // of the shard, in the view by which From has sent this; 0: not said

	heard time.Duration // of a waiting request: when it came last
}

// Body is the content of a Request.
type Body interface{ body() }

// Maker tells the origin of an object's bytes.
type Maker uint8

// The makers.
const (
	ByPut Maker = iota
	ByReduce
)

type (
	// Begin binds the object. Answers: a generation (State begun); or, if it is
	// final or lost, its digest, with which the creator compares its own
	// bytes; or, for the reduce with the same Tag, State begun and Attached
	// with the coordinator's node, or State final with its Note. While another
	// creator with equal metadata is at work the request waits. If it was deleted,
	// the answer is ErrDeleted with the generation, which the creator names in After
	// when it asks anew: a late copy of a request from before the Delete cannot. The same
	// holds if it was bound since then, and released.
	Begin struct {
		Meta    phalanx.Meta
		Maker   Maker
		Tag     string             // digest of the reduce request
		Run     uint64             // names the reduce among the reduces of its node, for all attempts of its coordinator; 0: none
		Copies  int                // complete pinned copies that are to be kept; 0 means 1
		Replace phalanx.Generation // of a lost object that other bytes are to replace
		After   phalanx.Generation // From has been told that this one was deleted, or released since; zero: nothing
	}
	// PutInline binds and finishes a small object in one durable change.
	PutInline struct {
		Meta   phalanx.Meta
		Digest phalanx.Digest
		Bytes  []byte
		Tag    string             // as in Begin, for the target of a reduce
		Note   []byte             // as in Final
		Gen    phalanx.Generation // finish this generation, if the id was begun before
		After  phalanx.Generation // as in Begin; none is told if this request has put the deleted object
		Held   bool               // From keeps a complete pinned copy
		Copies int
	}
	// Final records that generation Gen is finished. It compares and swaps on
	// Gen.
	Final struct {
		Gen    phalanx.Generation
		Meta   phalanx.Meta // with its final size
		Digest phalanx.Digest
		Note   []byte // the answer of a reduce, given to each repeat of it
		Held   bool   // From has a complete pinned copy
		// At has every byte, and is listed with them: the node of a reduce's root, which
		// hears from the owner that they are final, and says so if it has lost them.
		At phalanx.NodeID
		// View is the number of From's view, by which it knows At: an owner with an
		// older one, to which At is no member, does not answer.
		View uint64
	}
	// Abort releases the binding: the creator cannot go on. It compares and swaps on Gen;
	// but a greater one of the same Run goes too: an earlier attempt has asked for that, and
	// no node has heard of it.
	Abort struct {
		Gen phalanx.Generation
		Run uint64 // as in Begin
	}
	// Restart replaces generation Gen, which is not final, by a new one. It
	// compares and swaps on Gen; but if the target has a greater one already, of
	// the same Run, an earlier attempt has had its way late, and that is the answer.
	Restart struct {
		Gen phalanx.Generation
		Run uint64 // as in Begin
	}
	// Delete leaves a tombstone; every copy is dropped. Its sender asks first, with a zero
	// Gen, for the present generation: that changes nothing. Then it names that one: later
	// Puts stay, however late a copy of the Delete comes, and to whichever owner. It changes
	// nothing for an unbound id; the answer's State is unbound or deleted then, also to the
	// first question.
	Delete struct{ Gen phalanx.Generation }
	// Announce lists From's copy. The answer's State tells what to do with it:
	// unbound or deleted means drop it, a greater Gen replaces it.
	Announce struct {
		Gen      phalanx.Generation
		Complete bool
		Pinned   bool
		Origin   bool // From makes the bytes
		Begun    bool // From has the first piece
		Retiring bool // From goes on only for its present readers: no other receiver is sent to it (2.14)
		// Meta describes From's object, as the root of a reduce, whose size is known with its
		// first source. Size 0: not said.
		Meta phalanx.Meta
	}
	// Locate asks for a sender, or for the inline bytes. Room is how many bytes
	// From has reserved; a larger object is answered by its size, without a
	// lease. Unless Wait, the answer for an unbound id is ErrNotFound. Down is how many
	// bytes per second From has got at best lately; 0 if it is not known. Failed is
	// From's lease that has failed, if one has just done so (2.10): the report of that
	// can be lost with the connection that broke, and come after this request.
	Locate struct {
		Room   int64
		Wait   bool
		Down   int64
		Failed uint64
	}
	// Cancel ends From's request Num and the lease that answered it.
	Cancel struct{ Num uint64 }
	// Done ends a lease whose bytes have all arrived. Complete says that the
	// copy was checked and is final.
	Done struct {
		Lease    uint64
		Gen      phalanx.Generation
		Complete bool
		Rate     int64 // bytes per second at which From has read from the sender; 0 if it was not measured
	}
	// Failed ends a lease and bars its pair for a while. Either side reports.
	Failed struct {
		Lease  uint64
		Reason string
	}
	// Slow tells, by the sender under a lease, that its receiver is below a
	// quarter of the sender's free rate for 100 ms (2.13).
	Slow struct{ Lease uint64 }
	// Corrupt tells that From has every byte of the final generation Gen, that each
	// piece passed its check, and that their digest is not the recorded one: the
	// origin is to blame. If another holder finds the same the owner withdraws the
	// generation, else only From's copy goes (3.4).
	Corrupt struct {
		Gen    phalanx.Generation
		Digest phalanx.Digest
	}
	// Checked answers PushCheck: From has looked at all bytes of its complete copy
	// of Gen, and this is their digest; zero if it has none, or none any more.
	Checked struct {
		Gen    phalanx.Generation
		Digest phalanx.Digest
	}
	// AwaitCopies is answered once at least Copies complete pinned copies of the
	// final generation Gen are listed at members that stay. It raises the object's
	// number of copies if that was lower.
	AwaitCopies struct {
		Gen    phalanx.Generation
		Copies int
		// Leaving is not 0 if From leaves: the number of a view in which it is marked
		// so. As many copies as were promised are waited for then, at least one, and
		// the owner answers by no older view.
		Leaving uint64
	}
	// Watch asks for the object's readiness now and whenever it changes.
	Watch struct{}
	// Stat asks for the object's state.
	Stat struct{}
	// Evict asks for leave to drop From's complete copy.
	Evict struct{ Gen phalanx.Generation }
	// Drop tells that From's copy of Gen is gone. Granted: with leave to evict it,
	// so that it is not listed any more, or From has got it anew.
	Drop struct {
		Gen     phalanx.Generation
		Granted bool
	}
	// List asks for the ids of this shard that begin with Prefix and follow
	// After, at most Limit. Request.Object is empty.
	List struct {
		Prefix string
		After  phalanx.ObjectID
		Limit  int
	}
)

// Then returns the Delete that follows the answer r to d; false if there is none.
func (d Delete) Then(r Result) (next Delete, follows bool) {
	follows = r.Kind == 0 && d.Gen.IsZero() && r.State != Unbound && r.State != Deleted
	return Delete{Gen: r.Gen}, follows
}

func (Begin) body()       {}
func (PutInline) body()   {}
func (Final) body()       {}
func (Abort) body()       {}
func (Restart) body()     {}
func (Delete) body()      {}
func (Announce) body()    {}
func (Locate) body()      {}
func (Cancel) body()      {}
func (Done) body()        {}
func (Failed) body()      {}
func (Watch) body()       {}
func (Slow) body()        {}
func (Corrupt) body()     {}
func (Checked) body()     {}
func (AwaitCopies) body() {}
func (Stat) body()        {}
func (Evict) body()       {}
func (Drop) body()        {}
func (List) body()        {}

// Reply answers a Request. A request that has to wait is first answered with
// Waiting, and once more when it is done.
type Reply struct {
	To     phalanx.NodeID
	Num    uint64
	Object phalanx.ObjectID
	Epoch  uint64 // of the shard, by the view of the owner that answers; 0: it is told without the shard's core
	Result Result
}

// Former reports whether a node that asks the owner of epoch must not believe r: the shard
// may have been lost since, and then no record has the content of r. The node asks the owner of
// epoch too, and its effects would be doubled.
func (r Reply) Former(epoch uint64) bool { return r.Epoch != 0 && r.Epoch < epoch }

// Result is the answer to a Request; fields that do not apply are zero.
type Result struct {
	Kind     phalanx.Kind // 0: it is done
	Text     string       // the error, for people
	NotOwner bool         // ask the owner of a newer view
	Waiting  bool         // the request is queued; State tells why
	State    State
	Gen      phalanx.Generation
	Deleted  phalanx.Generation // of a rejection: the last that was deleted, if it is known; Gen may have been released since
	Meta     phalanx.Meta
	Digest   phalanx.Digest // if the object is final
	Inline   []byte
	IsInline bool
	Tag      string         // of the reduce that has made it, if it is final
	Listed   uint64         // the shard's epoch, if Inline came and its receiver is listed with it; 0: it has to announce it
	Note     []byte         // the recorded answer of a reduce: to the Begin of the same one, and to keepers of a pinned copy
	Attached phalanx.NodeID // the node of the coordinator that makes the object
	Origin   phalanx.NodeID // the node that makes the bytes, or made them
	Lease    uint64         // 0: no lease
	Sender   phalanx.NodeID // the node from which the lease allows to read
	Beside   bool           // the sender serves a slow receiver besides, which does not count
	Stat     *ObjectStat
	List     []ObjectStat
}

// ObjectStat is the owner's knowledge of an object.
type ObjectStat struct {
	Object  phalanx.ObjectID
	State   State
	Gen     phalanx.Generation
	Meta    phalanx.Meta
	Digest  phalanx.Digest
	Inline  bool
	Maker   Maker
	Origin  phalanx.NodeID
	Holders []HolderStat // in the order in which they came; not in lists
	Waiting []phalanx.NodeID
	Hidden  int // how many more hold it or wait for it: at most 1000 of each are told
}

// HolderStat describes one copy.
type HolderStat struct {
	Node     phalanx.NodeID
	Complete bool
	Pinned   bool
	Origin   bool
	Upstream phalanx.NodeID // the node from which it reads under a lease
}
