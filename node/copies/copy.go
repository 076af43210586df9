package copies

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// Copy is a node's copy of one generation of an object. A Table changes it; its host reads it,
// with the table's lock held except for fields that never change.
type Copy struct {
	Object phalanx.ObjectID
	Gen    phalanx.Generation
	Bytes  Bytes // the host's

	Meta     phalanx.Meta
	Digest   phalanx.Digest // once complete
	Complete bool
	Pinned   bool
	Origin   bool // this node makes it
	Ring     bool // made here, but announced to the owner only once it is whole
	Dropped  bool
	Lease    uint64 // under which it is read from Upstream
	Upstream phalanx.NodeID
	Maker    phalanx.NodeID // of the bytes from Upstream, if known

	Lore

	streams int    // receivers that read from it
	users   int    // readers, views and places of this node that use it
	used    uint64 // the table's count of uses, when the last one ended
	asked   bool   // the node is asking for leave to evict it
	changed bool   // its bytes have changed in memory while it was a part
	at      neighbours
}

// Bytes are the bytes of a copy. A Table calls them with its lock held.
type Bytes interface {
	// Are reports whether all bytes are here and have this digest. The copy is not complete.
	Are(digest phalanx.Digest) bool
	// Begun reports whether the first piece is here.
	Begun() bool
	// Shown says that the copy is in the table from now on.
	Shown()
	// Whole says that the copy is complete from now on.
	Whole()
	// Gone says that the copy was dropped, and brings the error for its readers: an *Ended,
	// or the host's own.
	Gone(why error)
	// Counts says that the answer of Lasts may have changed.
	Counts()
}

// Lore is a node's knowledge beside a complete copy, for an owner that has to begin with nothing
// but copies: the owner before and its backup were lost (specification 2.5).
type Lore struct {
	Copies int    // how many the cluster is to keep, of a pinned one; 0: it is not known
	Tag    string // the digest of the Reduce that has made it, if there was one
	Note   []byte // the answer of that Reduce, of a pinned one
}

// Ended is the error of a copy that another one replaces.
type Ended struct {
	Why Why
	Gen phalanx.Generation // Reset: the newer one
}

// Error implements error.
func (e *Ended) Error() string {
	if e.Why == Reset {
		return "generation " + e.Gen.String() + " has taken its place"
	}
	return "a complete copy has taken its place"
}

// is reports whether all bytes are here and have this digest.
func (c *Copy) is(digest phalanx.Digest) bool {
	if c.Complete {
		return c.Digest == digest
	}
	return c.Bytes.Are(digest)
}

// Used reports whether a reader, a view, a place or a stream of this node uses it.
func (c *Copy) Used() bool { return c.users > 0 || c.streams > 0 }

// Users returns how many readers, views and places of this node use it.
func (c *Copy) Users() int { return c.users }

// Streams returns how many receivers read from it.
func (c *Copy) Streams() int { return c.streams }

// Asked reports whether the node is asking for leave to evict it.
func (c *Copy) Asked() bool { return c.asked }

// Lasts reports whether c is pinned, and whether it is a part that will be: eviction frees the
// memory of neither.
func (c *Copy) Lasts() (pinned, reserved bool) {
	switch {
	case c.Dropped:
	case c.Complete:
		return c.Pinned, false
	default:
		return false, c.Pinned || c.Origin
	}
	return false, false
}

// Announcement returns the report that all of c is here. The node sends it before Finish makes an
// origin's copy complete: from then on it may ask for leave to evict the copy.
func (c *Copy) Announcement(pinned bool) directory.Announce {
	return directory.Announce{Gen: c.Gen, Complete: true, Pinned: pinned}
}

// holding returns the node's report of c to a new owner.
func (c *Copy) holding() directory.Holding {
	return directory.Holding{Object: c.Object, Gen: c.Gen, Meta: c.Meta, Digest: c.Digest, Complete: c.Complete,
		Pinned: c.Pinned, Origin: c.Origin && !c.Complete && !c.Ring, Begun: c.Complete || c.Bytes.Begun(), Lease: c.Lease, Upstream: c.Upstream,
		Copies: c.Copies, Tag: c.Tag, Note: c.Note}
}
