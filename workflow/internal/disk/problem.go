package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/phalanx-go/phalanx/internal/durable"
)

// problem says what an error of Open means for the person who runs the node.
func problem(dir string, err error) error {
	what := durable.ErrUnusable
	switch {
	case errors.Is(err, durable.ErrNotOurs):
		what = durable.ErrNotOurs
	case errors.Is(err, durable.ErrOtherCluster):
		what = durable.ErrOtherCluster
	case errors.Is(err, durable.ErrLater):
		what = durable.ErrLater
	case errors.Is(err, durable.ErrLocked):
		what = durable.ErrLocked
	case errors.Is(err, durable.ErrNotMade):
		what = durable.ErrNotMade
	case vfs.IsNoSpaceError(err):
		what = durable.ErrFull
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		what = durable.ErrReadOnly
	case errors.Is(err, durable.ErrCorrupt), pebble.IsCorruptionError(err),
		errors.Is(err, fs.ErrNotExist), errors.Is(err, pebble.ErrDBDoesNotExist): // files are missing
		what = durable.ErrDamaged
	}
	return &durable.OpenError{Dir: dir, Problem: what, Cause: err}
}

// notMade tells a place in which no folder can be, as in /proc or below a file, from a folder of which files are missing.
func notMade(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("%w: %w", durable.ErrNotMade, err)
	}
	return err
}

// locked tells a lock that another holds from a lock file that cannot be made.
func locked(err error) error {
	if path := new(fs.PathError); errors.As(err, &path) {
		return err
	}
	return fmt.Errorf("%w: %w", durable.ErrLocked, err)
}
