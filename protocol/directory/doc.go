// Package directory decides who holds what and who may send to whom.
//
// A Shard is one replica, owner or backup, of one shard of the directory. The
// owner answers requests; what it must not lose (bindings, final states,
// tombstones, inline bytes, eviction grants) is on the in-sync backup before it
// is acknowledged or shown. What the nodes can tell again (locations, leases,
// waiting receivers) is not replicated: after a move every node reports its
// holdings, and until all have, the shard is warming.
//
// Guarantees, as long as one of owner and in-sync backup lives: an
// acknowledged change is never lost; of two creators of one id one wins;
// generations of an id rise; a sender is leased to at most Fanout receivers of
// an object at a time, and one slow receiver besides, and never to one that it
// reads from itself, directly or through others.
//
// A Shard is not safe for concurrent use; one actor owns it.
//
// Hosts: directory, sim.
package directory
