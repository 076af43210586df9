// Package directory runs the directory's shards: an actor for each replica
// that the view gives to this node, the client through which a node reaches
// the owners, and the reports of a node's holdings to a new owner.
//
// The decisions are in package protocol/directory.
package directory
