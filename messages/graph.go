package messages

import (
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/workflow"
)

// Graph is a workflow as its run records it: every node that knows the functions can run it.
type Graph struct {
	Calls     []GraphCall // without repeats, in the order of their first use
	Constants [][]byte    // likewise
	Tasks     []GraphTask // each after those that it reads or follows
}

// GraphCall is what tasks run, and what they promise. Of another Kind than CallFunction only
// the fields that are named for it are set, of CallReduce and CallKeep those of checkpoints, and of CallReduce Timeout, Limit and Retries.
type GraphCall struct {
	Kind    GraphKind
	Name    string // of the function or of the event
	Version int    // of the function

	Deterministic bool
	Checkpoint    workflow.Checkpoint
	Effect        workflow.Effect
	Compensates   bool          // the function has a compensation
	Expands       bool          // the function returns a workflow, whose result becomes its output
	Actors        bool          // the output holds references to actors
	Snapshot      bool          // versions of actors that it returns are copied before others write them
	Timeout       time.Duration // of an attempt; 0: none
	Heartbeat     time.Duration // the longest silence of an attempt; 0: any
	Limit         string        // name of a semaphore that attempts hold; "": none
	LimitMost     int           // how many may hold it
	Retries       int           // how many failures are repaired, and one; 0: the default

	Pause time.Duration // of a sleep
	Op    phalanx.Op    // of a reduce
	DType phalanx.DType // of its elements
	Num   int           // how many inputs a reduce takes; 0: all
}

// Needs returns how many of the tasks that a task of a graph reads have to have ended before it begins; 0: all of them. A
// reduce of some arrays begins with as many outputs as make up the arrays, beside its constants. An array whose elements come from
// several tasks has to be there as a whole, so that a reduce with such a list needs all tasks.
func (g *Graph) Needs(v int) int {
	c, t := &g.Calls[g.Tasks[v].Call], &g.Tasks[v]
	if c.Kind != CallReduce || c.Num == 0 {
		return 0
	}
	reads := map[uint32]bool{}
	needs := c.Num
	rest, inList := t.Inputs, uint64(0) // how many of rest are in the present list
	for ; len(rest) > 0; rest = rest[1:] {
		in, outer := rest[0], inList == 0
		if !outer {
			inList--
		}
		switch {
		case in.OfTask() && !outer:
			return 0
		case in.OfTask():
			reads[in.N] = true
			continue
		case in.Kind == InputList:
			inList += uint64(in.N)
		}
		if outer {
			needs--
		}
	}
	if needs = max(1, needs); needs >= len(reads) {
		return 0
	}
	return needs
}

// GraphKind says what a task does.
type GraphKind uint8

// The kinds of tasks.
const (
	CallFunction  GraphKind = iota // a registered function
	CallEvent                      // it waits for the signal Name
	CallSleep                      // it waits for Pause
	CallReduce                     // it combines its inputs by Op
	CallKeep                       // its output is its constant, a Bundle, so that the objects that this names have a checkpoint
	lastGraphKind = CallKeep
)

// KeepCall returns the call of a task that keeps what a constant names, in a graph whose tasks promise to be deterministic, or to have no
// checkpoint. Nobody makes the objects again that it has lost before its checkpoint: tasks wait for the checkpoint of one that counts as
// deterministic too, since an effect would else begin before.
func KeepCall(deterministic, off bool) GraphCall {
	c := GraphCall{Kind: CallKeep, Deterministic: deterministic, Effect: workflow.None}
	switch {
	case off:
		c.Checkpoint = workflow.Off
	case deterministic:
		c.Checkpoint = workflow.Sync
	}
	return c
}

// GraphTask is one task of a graph, which is named by its index.
type GraphTask struct {
	Call   int32        // in Calls
	Inputs []GraphInput // the arguments in order; those of a list stand behind it
	After  []int32      // tasks that it follows without reading them, rising
}

// GraphInput is an argument, or a list of N arguments that follow.
type GraphInput struct {
	Kind GraphInputKind
	N    uint32 // a task, an index in Constants, or a length
}

// GraphInputKind says what an argument is.
type GraphInputKind uint8

// The kinds of arguments.
const (
	InputTask GraphInputKind = iota // the output of task N
	InputConstant
	InputList
	InputRead          // the output of task N, whose actors are only read
	InputCaught        // the output or the error of task N
	lastGraphInputKind = InputCaught
)

// OfTask reports whether the argument comes from a task.
func (in GraphInput) OfTask() bool {
	return in.Kind == InputTask || in.Kind == InputRead || in.Kind == InputCaught
}

// Limits of a Graph. What is beyond is phalanx.ErrInvalid.
const (
	MaxGraphBytes    = 64 << 20 // encoded
	MaxConstantBytes = 64 << 10 // of one constant
	MaxGraphDepth    = 16       // lists in each other
	MaxGraphInputs   = 10_000_000
	maxGraphName     = 256 // bytes
)
