// Package retry says when a message that has no answer is sent again.
//
// A sender keeps a Backoff for each message, and gives it the Pauses that hold at the time. A Trip
// adapts the pauses to how long answers take. The sender says what the time is.
//
// Values are copied as they are. They are not for concurrent use.
//
// Used by: node/ask, protocol/barrier, protocol/directory, protocol/group, protocol/join, protocol/replica.
package retry
