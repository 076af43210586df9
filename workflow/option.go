package workflow

import (
	"fmt"
	"time"

	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// promise is what the annotations of a task say (workflow specification 1.1).
type promise struct {
	deterministic bool
	checkpoint    core.Checkpoint
	effect        core.Effect
	idempotent    bool // it is said, not only assumed
	snapshot      bool
	timeout       time.Duration
	heartbeat     time.Duration
	limit         string
	limitMost     int
	retries       int // and one; 0: the default
}

// Option annotates a task, or one step of it.
type Option func(*promise)

// The annotations. Without them a task is not deterministic, has an asynchronous checkpoint and an
// idempotent effect: that is write-ahead logging.
var (
	// Deterministic says that the task makes the same bytes of the same inputs, and reads nothing that
	// later tasks or outsiders overwrite.
	Deterministic Option = func(p *promise) { p.deterministic = true }
	// NoEffect says that outsiders see nothing of the task.
	NoEffect Option = func(p *promise) { p.effect = core.None }
	// Idempotent says what holds without annotations: a repeat under the same Context.Key, even at the same time,
	// has no second effect and returns what the first did. A node does not log a task that says so.
	Idempotent Option = func(p *promise) { p.idempotent = true }
	// NoCheckpoint has the output not saved, unless it is a result.
	NoCheckpoint Option = func(p *promise) { p.checkpoint = core.Off }
	// SyncCheckpoint has consumers wait until the output is saved.
	SyncCheckpoint Option = func(p *promise) { p.checkpoint = core.Sync }
	// Snapshot has versions of actors that the task returns copied before another task writes them.
	Snapshot Option = func(p *promise) { p.snapshot = true }
)

// Timeout ends an attempt that takes longer than d, from its first input to its output: it fails with phalanx.ErrDeadline, and is repeated. It holds for the undo and the
// compensation of the task as well, each by itself.
func Timeout(d time.Duration) Option {
	positive("timeout", d)
	return func(p *promise) { p.timeout = d }
}

// Heartbeat ends an attempt that has not called Context.Beat for d: it fails with ErrSilent, and is repeated. The undo and the
// compensation of the task need not call it.
func Heartbeat(d time.Duration) Option {
	positive("heartbeat", d)
	return func(p *promise) { p.heartbeat = d }
}

// Limit has an attempt of the task begin only if fewer than n attempts of tasks with a limit of this name run, in all runs and on all nodes of
// the cluster. Its undo and its compensation count as well. An attempt that waits takes no slot, and runs take their turn. An attempt counts until it
// has ended, or its node has left the view: on a node that was cut off it may go on for some seconds more. It panics without a name, or if n is not positive.
func Limit(name string, n int) Option {
	if name == "" || len(name) > maxName || n <= 0 || n > maxVersion {
		panic(fmt.Sprintf("workflow: the limit %q of %d needs a name of up to %d bytes and a positive number", name, n, maxName))
	}
	return func(p *promise) { p.limit, p.limitMost = name, n }
}

// Retry has n failures in a row of the task repaired; without it that is 3. It panics if n is negative.
func Retry(n int) Option {
	if n < 0 || n >= maxVersion {
		panic(fmt.Sprintf("workflow: a task cannot be repeated %d times", n))
	}
	return func(p *promise) { p.retries = n + 1 }
}

func positive(what string, d time.Duration) {
	if d <= 0 {
		panic(fmt.Sprintf("workflow: a %s of %v is not positive", what, d))
	}
}
