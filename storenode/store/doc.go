// Package store has the actors of the object store of one node, which make and fetch
// objects and combine arrays, the table of the copies that the node holds, and the
// streams that it serves to other nodes.
//
// The store actor answers the messages of application actors (package storenode). The
// table and the buffers lie outside its instance, so that a restart loses nothing. Each
// object that is arriving has a fetch actor, each Put a put actor, each place of a
// reduce a place actor; they are siblings of the store and die alone: whoever
// waits for one that panicked gets an error, and a coordinator replaces a place.
//
// Env, Table and Places are safe for concurrent use.
package store
