// Package directory runs the directory's shards: an actor for each replica
// that the view gives to this node, the client through which a node reaches
// the owners, and the reports of a node's holdings to a new owner.
//
// The decisions are in package protocol/directory. A shard's actor that panicked
// has lost its state: it says so, and the view goes on with the other replica, if
// there is one.
// A Client repeats its requests until they are answered, a Reporter its reports
// until they are acknowledged.
//
// Host, Client and Reporter are safe for concurrent use; each Run runs once.
package directory
