package storenode

import (
	"io"

	"github.com/phalanx-go/phalanx"
)

// Reader reads an object while it arrives. It never shows a byte that was not
// checked, and ends with io.EOF only when the object is final. If the bytes are
// replaced by another generation it fails with ErrReset, if their creator gives
// up with ErrAborted: the bytes read so far are not the object's.
//
// If its context has no deadline, it ends with ErrDeadline once no byte has come for
// as long as the node's default one.
//
// One goroutine reads; another one may close.
type Reader struct{ from Arriving }

// Arriving is the source of a Reader's bytes. Its methods are those of Reader.
type Arriving interface {
	io.ReadCloser
	io.WriterTo
	Skip(n int64) error
	Meta() phalanx.Meta
	Info() Info
}

// NewReader returns a reader of arriving bytes.
func NewReader(from Arriving) *Reader { return &Reader{from: from} }

var _ Arriving = (*Reader)(nil)

// Meta describes the object. Its size may be phalanx.UnknownSize until EOF.
func (r *Reader) Meta() phalanx.Meta { return r.from.Meta() }

// Info describes the object; its digest is zero as long as it is not final.
func (r *Reader) Info() Info { return r.from.Info() }

// Read reads the bytes that have arrived, and waits if there are none.
func (r *Reader) Read(p []byte) (int, error) { return r.from.Read(p) }

// WriteTo writes the whole object to w, straight from the store's memory.
func (r *Reader) WriteTo(w io.Writer) (int64, error) { return r.from.WriteTo(w) }

// Skip moves on by n bytes without reading them, once they have arrived.
func (r *Reader) Skip(n int64) error { return r.from.Skip(n) }

// Close ends the reading. Closing twice is harmless.
func (r *Reader) Close() error { return r.from.Close() }
