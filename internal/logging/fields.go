// Package logging fixes how the module logs: the names of the fields, the same
// everywhere, so that a log can be searched by object or node; and a bridge for
// libraries that log with slog. Loggers themselves are passed in.
package logging

// The names of fields. Durations, sizes and counts have their unit in the name
// or in the value's own type.
const (
	Node       = "node"       // the NodeID that logs
	Peer       = "peer"       // the NodeID of the other side
	Address    = "address"    // of the other side, while its NodeID is not known
	Object     = "object"     // an ObjectID
	Generation = "generation" // of that object
	Size       = "bytes"      // of the line's subject
	Offset     = "offset"     // in bytes
	Shard      = "shard"      // the number of a directory shard
	Epoch      = "epoch"      // of that shard
	View       = "view"       // the number of a view
	Lease      = "lease"      // the number of a lease
	Request    = "request"    // the number of a request
	Stream     = "stream"     // the number of a stream of the data plane
	Reduce     = "reduce"     // the target of a reduce
	Place      = "place"      // the number of a place in that reduce
	Attempt    = "attempt"    // of a coordinator, or of a retry
	Op         = "op"         // the call: "get", "put", "reduce" …
	Actor      = "actor"      // the PID of an actor
	Event      = "event"      // the type of an event that was published
	Cause      = "cause"      // why something was done
	Duration   = "duration"   // a time.Duration
	Error      = "error"      // as WithError of logrus has it
	Stack      = "stack"      // of a goroutine that panicked
)
