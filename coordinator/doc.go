// Package coordinator runs Reduces: an actor for each, which hosts the core of
// package protocol/reduce, watches the places that it started, and speaks with
// the directory about the target and the sources.
package coordinator
