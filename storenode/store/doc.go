// Package store has the actors of the object store of one node, which make and fetch
// objects and combine arrays, the table of the copies that the node holds, and the
// streams that it serves to other nodes.
//
// The store actor answers the messages of application actors (package storenode). The
// table and the buffers lie outside its instance, so that a restart loses nothing. Each
// object that is arriving has a fetch actor, each Put a put actor, each place of a
// reduce a place actor. They are siblings of the store and die alone: the callers of an
// actor that panicked get an error, and a coordinator replaces a place.
//
// The files:
//
//   - store, api, within, call, collectives, allreduce, prefetch, refuse, owned: the store actor
//     and the calls of applications
//   - env, life, leave, errors, handover: the state that the actors share, and its end
//   - table, copybytes, learned, inventory, upstreams: the table of copies
//   - evict, victim: eviction
//   - orders, report, confirm, corruption: the node's orders from owners and reports to them
//   - put, supply: Puts
//   - arrival, fetch…, probe, downlink: look-ups and fetches
//   - reader, serve, outgoing: the readers of a copy, here and on other nodes
//   - place…, output, op, edge…, ring, sink, shrinkoutputs: the places of reduces
//
// Env, Table and Places are safe for concurrent use.
package store
