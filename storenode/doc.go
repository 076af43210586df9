// Package storenode is what an application says to the object store of its node and
// hears from it: the messages, the View of an object's bytes, and the Reader of bytes
// that arrive.
//
// A View may be read by any number of goroutines until it is released; a Reader has
// one reader at a time. The store's actors are in package store below.
package storenode
