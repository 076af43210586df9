package workflow

import (
	"cmp"
	"context"
	"fmt"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/storenode"
)

// Context is what a task has of one attempt. It ends with the attempt: then calls fail with ErrEnded. It is safe for concurrent
// use.
type Context interface {
	context.Context

	// Key is the same for every attempt of the task in one run, and differs between runs and tasks. A service that
	// remembers keys does not repeat an effect. The key of a task with an undo differs after the effect was taken back; its undo
	// and its compensation have the key of the effect.
	Key() string
	// Fence orders this attempt among all of the task. In an undo it says which attempts it undoes: those with the same or a lower
	// fence. After the undo none of these may take effect any more, however late it comes.
	Fence() Fence
	// Attempt counts the attempts since the last that ended well or was undone, from 1.
	Attempt() int

	// Beat says that the attempt goes on, for Heartbeat. Progress, of up to 64 KB, is given to the next attempt if this one is
	// lost or fails; nil leaves what was given last. It is copied. Beat fails once the context has ended.
	Beat(progress []byte) error
	// LastBeat returns the progress of the attempt before; nil: it has given none. The caller must not change it.
	LastBeat() []byte

	// Put makes an object, of bytes that it copies. A name can be used once in an attempt, unless the bytes are the same; it has 1 to
	// 64 printable bytes and does not begin with a dot. Objects that the output does not contain are deleted in the end.
	Put(name string, data []byte) (Ref, error)
	// PutAs is Put of an array: meta has the type of its elements and its shape. The size is that of data.
	PutAs(name string, data []byte, meta phalanx.Meta) (Ref, error)
	// Get returns a view of an object that the task was given or has made. The caller releases the view; the end of the
	// attempt does it else. A task that keeps its bytes copies them.
	Get(r Ref) (*storenode.View, error)
}

// Fence orders the attempts of a task (workflow specification 1.2).
type Fence struct {
	Generation uint64 // of the ledger: it rises only when a ledger is recovered by hand
	Term       uint64 // of the ledger's leader
	Attempt    uint64 // in that term
}

// Compare orders fences: the later attempt has the greater one.
func (f Fence) Compare(g Fence) int {
	return cmp.Or(cmp.Compare(f.Generation, g.Generation), cmp.Compare(f.Term, g.Term), cmp.Compare(f.Attempt, g.Attempt))
}

// String returns "generation.term.attempt".
func (f Fence) String() string { return fmt.Sprintf("%d.%d.%d", f.Generation, f.Term, f.Attempt) }
