package workflow

import (
	"strings"
	"time"
)

// Bounds of what a Controller and an Executor hold (workflow specification 3).
const (
	MaxWork        = 64 << 20         // bytes of a workflow as it is recorded, with its constants
	MaxReturned    = 2 << 20          // bytes of a workflow that a task returns, as it is recorded: a controller reads it while all else waits
	MaxInputs      = 64 << 20         // bytes of what an executor has to know of the inputs of a task
	MaxWrite       = 192 << 10        // bytes of a Write, but for one row that is larger; an entry of the ledger has 256 KB
	MaxUncommitted = 16 << 20         // bytes that are not durable: above, Start is ErrBusy and reports wait
	MaxCalls       = 1 << 16          // calls that wait for an answer
	MaxAwaits      = MaxCalls - 1<<12 // of them, as one more waits for a result: others can still signal and cancel
	MaxKept        = 4096             // reports that an executor keeps, beside the attempts that run
	MaxRecorded    = 64 << 10         // bytes of an output that goes into the ledger
	MaxProgress    = 64 << 10         // bytes of the progress of an attempt
	MaxNames       = 32 << 10         // bytes of Output.Names; instead of more it has "", with which each id begins
	MaxWhy         = 4 << 10          // bytes of an error's text; the rest is cut
	MaxVersions    = 500              // of functions that a Resume puts in place of others
	MaxSlots       = 1 << 16          // attempts that a member runs at once
)

const (
	keptBytes     = 256                    // an output of the ledger that is larger is dropped from memory once it is durable
	stallAfter    = 2 * time.Second        // nothing is dispatched while a Write is not durable for longer
	largeInput    = 1 << 20                // bytes: a task runs where such an input is, if it can
	localWait     = 50 * time.Millisecond  // for a slot there
	mostSaves     = 256                    // checkpoints that are written at once
	mostLooks     = 16 << 10               // tasks at which a run looks in one step: all other runs wait meanwhile
	mostTold      = 512                    // attempts or outputs in a part of a Tell
	mostNamed     = 10                     // tasks in a Status or in news
	parkAfter     = 2 * time.Minute        // a run that only sleeps, and for longer, leaves the memory
	mostSet       = 16 << 10               // tasks in a Recovering, as it is written; more are several
	mostListed    = 1000                   // runs of an answer to List, and of a Release
	takeoverGrace = 100 * time.Millisecond // for members to answer before the controller looks which runs can go on without them
	mostPatience  = time.Minute            // of a call; its client asks again
	leaseGrace    = 10 * time.Second       // an attempt that goes on longer after the lease of its node ends the process
	minute        = time.Minute
	mostWritten   = 8 << 20     // bytes of Writes that are not durable: the ledger counts them as they are encoded, and refuses above 16 MB
	saveWait      = time.Minute // for a disk to write a checkpoint, and a second for each slowestDisk bytes
	slowestDisk   = 1 << 20
	slowestFile   = 160 * time.Millisecond // for each object that an output names, besides: a disk writes some of all outputs at once
	mostSaving    = 24 * 60 * 60           // seconds
	unfitFor      = time.Minute            // a disk that has failed to write a checkpoint gets none, if others can
	beatPause     = time.Second            // between two messages with the progress of an attempt
	waitsPause    = 5 * time.Second        // between two messages that an attempt waits
	mostProgress  = 16 << 20               // bytes of progress that a controller keeps; a task of which it keeps none begins anew
	againPause    = 5 * time.Second        // after which a node that has joined again names them
	sweepPause    = 5 * time.Second        // after which the store has heard of what a node that has left has done
	censusPause   = time.Hour              // after which a node names the runs again of which it has something
)

// Minutes of leaders' clocks.
const (
	retention = 7 * 24 * 60 // a closed run stays, by default
	tombstone = 20          // the id of a run that was forgotten stays
)

// cut returns the beginning of a text that comes from outside.
func cut(why string) string {
	if len(why) <= MaxWhy {
		return why
	}
	return strings.ToValidUTF8(why[:MaxWhy], "") + " …"
}
