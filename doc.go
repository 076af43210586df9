// Package phalanx is the vocabulary of the system: the names that every other
// package shares. It imports nothing from this module.
//
// An object is immutable bytes under an id. One filling of an object with
// bytes is a generation; the bytes that one node has of it are a copy, complete
// or partial. A node is one incarnation of a member of the cluster.
package phalanx
