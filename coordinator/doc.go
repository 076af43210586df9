// Package coordinator runs Reduces: an actor for each, which hosts the core of
// package protocol/reduce, watches the places that it started, and speaks with
// the directory about the target and the sources.
//
// Requests and answers are those of package storenode, above which it stands.
// A restarted actor makes a new core from what lies outside its instance: the
// request, the attempt, which rises with each restart, and what the core asked
// to be remembered. It begins the target as the same run, which the owner grants
// again, and the answers that the attempt before had asked for mean nothing to
// it. If its caller has given up meanwhile, it only gives the target back; so does
// an actor that fails too often to be restarted. Every call is answered once, at
// the latest soon after its deadline, which restarts do not put off.
//
// An Env is safe for concurrent use.
package coordinator
