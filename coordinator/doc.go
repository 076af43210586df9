// Package coordinator runs Reduces: an actor for each, which hosts the core of
// package protocol/reduce, watches the places that it started, and speaks with
// the directory about the target and the sources.
//
// Package storenode, above which it stands, has the requests and answers.
// A restarted actor makes a new core from the state outside its instance: the
// request, the attempt, which rises with each restart, and the core's notes.
// It begins the target as the same run, which the owner grants again, and
// ignores answers to requests of the attempt before.
// If its caller has given up meanwhile, it only gives the target back; so does
// an actor that fails too often to be restarted. Every call is answered once, at
// the latest soon after its deadline, which restarts do not put off.
//
// An Env is safe for concurrent use.
package coordinator
