// Package storenode has the messages between an application's actors and their node's object
// store, the View of an object's bytes, and the Reader of bytes that arrive.
//
// A View may be read by any number of goroutines until it is released; a Reader has
// one reader at a time. The store's actors are in package store below.
package storenode
