package durable

import (
	"errors"
	"fmt"
	"io"

	"github.com/phalanx-go/phalanx"
)

// Blobs keeps checkpoints that are too large for a row, each under a place that its writer chooses
// (workflow specification 3.7 and 3.10). All methods are safe for concurrent use.
type Blobs interface {
	// Put reads size bytes from r and keeps them under place, replacing what was there. They are
	// durable when it returns nil; after an error the old ones are there. The errors are
	// ErrMismatch if the bytes do not have that size and that digest of an object, ErrNoSpace if they,
	// and those of Puts that have not ended, would use the reserve, and ErrInvalid if place is no valid one.
	Put(place string, r io.Reader, size int64, digest phalanx.Digest) error
	// Open returns the blob under place, or ErrNotFound. The caller closes it.
	Open(place string) (*Blob, error)
	// Delete removes the blob under place, if there is one.
	Delete(place string) error
	// List calls f for each place and the size of its blob in bytes, in no order, until f returns false.
	List(f func(place string, size int64) bool) error
}

// Blob reads the bytes of a blob. They are right once Read has returned io.EOF: it returns ErrCorrupt
// instead if their number or digest is not as written. It is not safe for concurrent use.
type Blob struct {
	Size   int64 // in bytes
	Digest phalanx.Digest

	from io.ReadCloser
	read int64
	hash Digester
	over error // what Read returns from now on
}

// NewBlob returns a Blob over from, which Close closes.
func NewBlob(from io.ReadCloser, size int64, digest phalanx.Digest) *Blob {
	return &Blob{Size: size, Digest: digest, from: from}
}

// Read reads the next bytes, never more than Size in all.
func (b *Blob) Read(p []byte) (int, error) {
	if b.over != nil {
		return 0, b.over
	}
	if int64(len(p)) > b.Size-b.read+1 {
		p = p[:b.Size-b.read+1] // one more shows a blob that has become longer
	}
	n, err := b.from.Read(p)
	if b.read+int64(n) > b.Size {
		n, err = int(b.Size-b.read), fmt.Errorf("%w: the blob is longer than the %d bytes that were written", ErrCorrupt, b.Size)
	}
	b.read += int64(n)
	_, _ = b.hash.Write(p[:n]) // it takes all
	if errors.Is(err, io.EOF) {
		err = b.check()
	}
	b.over = err
	return n, err
}

func (b *Blob) check() error {
	if b.read < b.Size {
		return fmt.Errorf("%w: the blob has %d of the %d bytes that were written", ErrCorrupt, b.read, b.Size)
	}
	if b.hash.Sum() != b.Digest {
		return fmt.Errorf("%w: the digest of the blob's %d bytes is not that of what was written", ErrCorrupt, b.Size)
	}
	return io.EOF
}

// Corrupt reports whether what was read is not what was written. Of an error that a reader of the Blob has had it says whether that is
// the disk's.
func (b *Blob) Corrupt() bool { return errors.Is(b.over, ErrCorrupt) }

// Close lets the blob go.
func (b *Blob) Close() error { return b.from.Close() }

// CopyChecked copies size bytes from r to w and checks that r has these and no more, and that they
// have that digest. The error is ErrMismatch if not.
func CopyChecked(w io.Writer, r io.Reader, size int64, digest phalanx.Digest) error {
	var h Digester
	n, err := io.Copy(io.MultiWriter(&h, w), io.LimitReader(r, size)) // w may change the bytes: it comes last
	if err != nil {
		return err
	}
	if n < size {
		return fmt.Errorf("%w: the blob ended after %d of %d bytes", ErrMismatch, n, size)
	}
	var one [1]byte
	switch n, err := io.ReadFull(r, one[:]); {
	case n > 0:
		return fmt.Errorf("%w: the blob has more than the %d bytes that were announced", ErrMismatch, size)
	case !errors.Is(err, io.EOF):
		return err
	}
	if h.Sum() != digest {
		return fmt.Errorf("%w: the %d bytes of the blob do not have the digest that was announced", ErrMismatch, size)
	}
	return nil
}
