package replica

import "github.com/phalanx-go/phalanx"

// Version says which changes a replica has: all up to the batch Seq of the primary of Term.
type Version struct{ Term, Seq uint64 }

// Newer reports whether v has changes that the other version does not have.
func (v Version) Newer(than Version) bool {
	return v.Term > than.Term || v.Term == than.Term && v.Seq > than.Seq
}

// Has reports whether a replica of version v has a batch: it came before.
func (v Version) Has(batch Version) bool { return v.Term == batch.Term && v.Seq >= batch.Seq }

// Follows reports whether a replica of version v can make a batch: it has the one before.
func (v Version) Follows(batch Version) bool { return v.Term == batch.Term && v.Seq+1 == batch.Seq }

// Copy is a node's knowledge of its replica of one key, besides the state.
type Copy struct {
	Version
	Primary phalanx.NodeID // that made the last batch
}

// Forgets reports whether a node that is no primary of the key drops its replica, since a primary of
// a term says that it is not needed any more. The primary of the node's view is given too.
func (c *Copy) Forgets(from phalanx.NodeID, term uint64, primary phalanx.NodeID) bool {
	return term >= c.Term && (c.Primary == from || primary == from)
}
