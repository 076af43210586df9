package durable

import (
	"errors"
	"fmt"
	"strings"

	"github.com/phalanx-go/phalanx"
)

// Errors of a Store that is open. Those that name a kind of the root package are of that kind, too.
var (
	// ErrPoisoned: a sync has failed, what was read is corrupt, or a Write was invalid; the cause is
	// wrapped. What was acknowledged before is on the disk; nothing more is written, acknowledged or read.
	// The disk is replaced (workflow specification 3.4).
	ErrPoisoned = errors.New("the disk is poisoned, nothing is written to it or read from it any more: replace it")
	// ErrNoSpace: less than the reserve is free. What runs may go on; blobs and new runs are refused.
	ErrNoSpace = fmt.Errorf("the disk is nearly full (%w): free some of it, or put the folder on a larger one", phalanx.ErrNoSpace)
	// ErrCorrupt: what is read is not what was written.
	ErrCorrupt = fmt.Errorf("the disk is %w", phalanx.ErrCorrupt)
	// ErrMismatch: what was handed over is not what was announced.
	ErrMismatch = phalanx.ErrMismatch
	// ErrNotFound: nothing lies under that place.
	ErrNotFound = phalanx.ErrNotFound
	// ErrInvalid: an argument breaks a rule. An invalid Write is the core's mistake, and poisons the disk.
	ErrInvalid = phalanx.ErrInvalid
	// ErrBusy: too many streams or snapshots are open at once, or too many appends wait.
	ErrBusy = errors.New("the ledger is busy: try again soon")
	// ErrClosed: the Store was closed.
	ErrClosed = phalanx.ErrClosed
	// ErrFenced: the tenure may be over. Nobody can say whether what was appended is durable.
	ErrFenced = phalanx.ErrFenced
)

// Problems of a folder that cannot be opened. Each text says what to do.
var (
	ErrNotOurs      = errors.New("the folder has files, but none of ours: choose an empty one")
	ErrOtherCluster = errors.New("the folder belongs to another cluster: choose another folder, or remove this one if that cluster is gone for good")
	ErrReadOnly     = errors.New("the folder cannot be written: mount its file system for writing, or give the user of this process the right to write")
	ErrNotMade      = errors.New("the folder cannot be made there: choose another one, in a folder in which others can be made")
	ErrFull         = errors.New("the file system of the folder is full: free some of it, and start again")
	ErrLater        = errors.New("a later version has written the folder: start that version, or choose an empty folder")
	ErrLocked       = errors.New("a process uses the folder: stop it, or choose another folder")
	ErrDamaged      = fmt.Errorf("the folder is %w: remove it and start with an empty one; the other disks have what it held", phalanx.ErrCorrupt)
	ErrUnusable     = errors.New("the folder cannot be opened: see the cause; if it stays, choose another folder")
)

// OpenError says why a folder cannot be opened.
type OpenError struct {
	Dir     string
	Problem error // one of the problems above
	Cause   error // may be nil
}

// Error names the folder, what to do, and the cause.
func (e *OpenError) Error() string {
	if e.Cause == nil {
		return fmt.Sprintf("%s: %v", e.Dir, e.Problem)
	}
	cause, again := strings.CutPrefix(e.Cause.Error(), e.Problem.Error()) // it may wrap the problem
	if again {
		if cause = strings.TrimPrefix(cause, ": "); cause == "" {
			return fmt.Sprintf("%s: %v", e.Dir, e.Problem)
		}
	}
	return fmt.Sprintf("%s: %v (%s)", e.Dir, e.Problem, cause)
}

// Unwrap returns the problem and its cause.
func (e *OpenError) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Problem}
	}
	return []error{e.Problem, e.Cause}
}
