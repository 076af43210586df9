package durable

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/zeebo/xxh3"
)

// Limits of a row: longer ones are refused before memory is taken for them.
const (
	MaxKey   = 64 << 10 // bytes
	MaxValue = 16 << 20 // bytes
)

// The rows of a snapshot are encoded as: magic, index and term of the snapshot (8 bytes each, big
// endian); each row as the length of its key plus one and that of its value (varints), key and value;
// 0, the number of rows (varint), and the digest (XXH3, 128 bits) of all before it.
const magic = "phxrows1"

// Encoder encodes the rows of a snapshot.
type Encoder struct {
	hash xxh3.Hasher
	rows uint64
}

// NewEncoder returns an Encoder and the beginning of the snapshot as of index and term.
func NewEncoder(index, term uint64) (*Encoder, []byte) {
	b := binary.BigEndian.AppendUint64([]byte(magic), index)
	b = binary.BigEndian.AppendUint64(b, term)
	e := &Encoder{}
	return e, e.add(b, 0)
}

// Row appends a row to b. Keys have to rise.
func (e *Encoder) Row(b, key, value []byte) []byte {
	e.rows++
	from := len(b)
	b = binary.AppendUvarint(b, uint64(len(key))+1)
	b = binary.AppendUvarint(b, uint64(len(value)))
	return e.add(append(append(b, key...), value...), from)
}

// End appends what tells the receiver that it has all.
func (e *Encoder) End(b []byte) []byte {
	from := len(b)
	b = e.add(binary.AppendUvarint(append(b, 0), e.rows), from)
	digest := e.hash.Sum128().Bytes()
	return append(b, digest[:]...)
}

func (e *Encoder) add(b []byte, from int) []byte {
	_, _ = e.hash.Write(b[from:]) // a hash takes all
	return b
}

// Decode reads what an Encoder has written until r ends, and calls row for each row; key and value are
// valid until it returns. It returns the index and the term of the snapshot. The rows are right only if
// the error is nil; it is ErrMismatch if the stream is cut off, too long or changed.
func Decode(r io.Reader, row func(key, value []byte) error) (index, term uint64, err error) {
	d := &decoder{r: bufio.NewReaderSize(r, 64<<10)}
	var head [len(magic) + 16]byte
	if err := d.full(head[:]); err != nil {
		return 0, 0, err
	}
	if string(head[:len(magic)]) != magic {
		return 0, 0, fmt.Errorf("%w: the stream is no snapshot of this version", ErrMismatch)
	}
	if err := d.all(row); err != nil {
		return 0, 0, err
	}
	return binary.BigEndian.Uint64(head[8:]), binary.BigEndian.Uint64(head[16:]), nil
}

type decoder struct {
	r          *bufio.Reader
	hash       xxh3.Hasher
	key, value []byte // of the row before; the key has to rise
	failed     error  // of r, in a number
}

func (d *decoder) all(row func(key, value []byte) error) error {
	for rows := uint64(0); ; rows++ {
		n, err := d.number(MaxKey + 1)
		if err != nil {
			return err
		}
		if n == 0 {
			return d.end(rows)
		}
		if err := d.row(int(n-1), rows == 0); err != nil {
			return err
		}
		if err := row(d.key, d.value); err != nil {
			return err
		}
	}
}

func (d *decoder) row(length int, first bool) error {
	n, err := d.number(MaxValue)
	if err != nil {
		return err
	}
	key := make([]byte, length)
	if err := d.full(key); err != nil {
		return err
	}
	if !first && bytes.Compare(key, d.key) <= 0 {
		return fmt.Errorf("%w: the keys of the snapshot do not rise", ErrMismatch)
	}
	d.key = key
	if uint64(cap(d.value)) < n {
		d.value = make([]byte, n)
	}
	d.value = d.value[:n]
	return d.full(d.value)
}

func (d *decoder) end(rows uint64) error {
	n, err := d.number(rows)
	if err != nil {
		return err
	}
	want := d.hash.Sum128().Bytes()
	var digest [len(want)]byte
	if _, err := io.ReadFull(d.r, digest[:]); err != nil {
		return cutOff(err)
	}
	if n != rows || digest != want {
		return fmt.Errorf("%w: the number or the digest of the snapshot's rows is not as written", ErrMismatch)
	}
	if _, err := d.r.ReadByte(); err == nil {
		return fmt.Errorf("%w: bytes follow the end of the snapshot", ErrMismatch)
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// number reads a varint that is at most limit.
func (d *decoder) number(limit uint64) (uint64, error) {
	n, err := binary.ReadUvarint(hashing{d})
	if d.failed != nil {
		return 0, cutOff(d.failed)
	}
	if err != nil {
		return 0, fmt.Errorf("%w: a length in the snapshot has more than 64 bits", ErrMismatch)
	}
	if n > limit {
		return 0, fmt.Errorf("%w: the snapshot has a length of %d; at most %d can be", ErrMismatch, n, limit)
	}
	return n, nil
}

func (d *decoder) full(b []byte) error {
	_, err := io.ReadFull(d.r, b)
	_, _ = d.hash.Write(b) // a hash takes all
	return cutOff(err)
}

// cutOff makes ErrMismatch of the end of a stream.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: the snapshot is cut off", ErrMismatch)
	}
	return err
}

// hashing reads single bytes, which the digest covers.
type hashing struct{ d *decoder }

func (h hashing) ReadByte() (byte, error) {
	b, err := h.d.r.ReadByte()
	if h.d.failed = err; err == nil {
		_, _ = h.d.hash.Write([]byte{b}) // a hash takes all
	}
	return b, err
}
