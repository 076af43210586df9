// Package coordinator runs Reduces: an actor for each, which hosts the core of
// package protocol/reduce, watches the places that it started, and speaks with
// the directory about the target and the sources.
//
// Requests and answers are those of package storenode, above which it stands.
// A restarted actor makes a new core from what lies outside its instance: the
// request, the attempt, which rises with each restart, and what the core asked
// to be remembered. Every call is answered once, at the latest soon after its
// deadline.
//
// An Env is safe for concurrent use.
package coordinator
