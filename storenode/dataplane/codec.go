package dataplane

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
)

// The payloads of control frames: fixed-width integers, and strings and lists
// behind a varint of their length.

// RequestKind says which kind of bytes a stream carries.
type RequestKind uint8

// The kinds of a stream.
const (
	Object RequestKind = iota + 1 // a copy of an object
	Place                         // the output of a reduce place
)

// PlaceGeneration names one filling of a reduce place.
type PlaceGeneration struct{ Attempt, Seq uint64 }

// Request asks a sender for a stream.
type Request struct {
	Kind       RequestKind
	Object     phalanx.ObjectID // of a Place: the target
	Generation phalanx.Generation
	Offset     int64 // a multiple of PieceSize, or the size
	// Checked is the end of a bad piece: the sender checks earlier bytes itself before it sends
	// them. Zero if no piece was bad.
	Checked int64
	Lease   uint64
	Beside  bool // the grant says that one of the sender's receivers does not count

	Reduce          string // of a Place: the reduce, and the number of its place
	Place           int
	PlaceGeneration PlaceGeneration
}

type role uint8

const (
	roleMessages role = iota + 1
	roleStreams
	roleBeats
)

// hello opens a connection; the listener answers with another hello.
type hello struct {
	role     role
	features uint64
	view     uint64
	cluster  string
	from, to phalanx.NodeID
}

var errMalformed = errors.New("the payload ends early, or has bytes left")

func appendString[S ~string](b []byte, s S) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// decoder decodes a payload; after the first error it yields zeros.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) take(n uint64) []byte {
	if d.bad || n > uint64(len(d.b)) {
		d.bad = true
		return nil
	}
	p := d.b[:n]
	d.b = d.b[n:]
	return p
}

func (d *decoder) u8() uint8 {
	if p := d.take(1); p != nil {
		return p[0]
	}
	return 0
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func (d *decoder) bool() bool {
	v := d.u8()
	d.bad = d.bad || v > 1
	return v == 1
}

func (d *decoder) u32() uint32 {
	if p := d.take(4); p != nil {
		return binary.LittleEndian.Uint32(p)
	}
	return 0
}

func (d *decoder) u64() uint64 {
	if p := d.take(8); p != nil {
		return binary.LittleEndian.Uint64(p)
	}
	return 0
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if d.bad || n <= 0 {
		d.bad = true
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) bytes() []byte { return d.take(d.uvarint()) }

// err returns an error if the payload was too short or too long.
func (d *decoder) err(k frameKind) error {
	if !d.bad && len(d.b) == 0 {
		return nil
	}
	return refused("a %v frame: %w", k, errMalformed)
}

func refused(format string, args ...any) error {
	return &phalanx.Error{Op: "frame", Kind: phalanx.ErrRefused, Err: fmt.Errorf(format, args...)}
}

func (h hello) append(b []byte) []byte {
	b = append(b, byte(h.role))
	b = binary.LittleEndian.AppendUint64(b, h.features)
	b = binary.LittleEndian.AppendUint64(b, h.view)
	b = appendString(b, h.cluster)
	b = appendString(b, h.from)
	return appendString(b, h.to)
}

func parseHello(k frameKind, p []byte) (h hello, err error) {
	d := decoder{b: p}
	h = hello{role: role(d.u8()), features: d.u64(), view: d.u64(), cluster: string(d.bytes()),
		from: phalanx.NodeID(d.bytes()), to: phalanx.NodeID(d.bytes())}
	if err := d.err(k); err != nil {
		return hello{}, err
	}
	if h.role < roleMessages || h.role > roleBeats {
		return hello{}, refused("a connection for use %d", h.role)
	}
	return h, nil
}

func (r Request) append(b []byte) []byte {
	b = append(b, byte(r.Kind))
	b = appendString(b, r.Object)
	b = appendGeneration(b, r.Generation)
	b = binary.LittleEndian.AppendUint64(b, uint64(r.Offset))
	b = binary.LittleEndian.AppendUint64(b, uint64(r.Checked))
	b = binary.LittleEndian.AppendUint64(b, r.Lease)
	b = appendBool(b, r.Beside)
	b = appendString(b, r.Reduce)
	b = binary.LittleEndian.AppendUint32(b, uint32(r.Place))
	b = binary.LittleEndian.AppendUint64(b, r.PlaceGeneration.Attempt)
	return binary.LittleEndian.AppendUint64(b, r.PlaceGeneration.Seq)
}

func parseRequest(p []byte) (r Request, err error) {
	d := decoder{b: p}
	r = Request{Kind: RequestKind(d.u8()), Object: phalanx.ObjectID(d.bytes()), Generation: d.generation(),
		Offset: int64(d.u64()), Checked: int64(d.u64()), Lease: d.u64(), Beside: d.bool(), Reduce: string(d.bytes()), Place: int(d.u32()),
		PlaceGeneration: PlaceGeneration{Attempt: d.u64(), Seq: d.u64()}}
	if err := d.err(kindOpen); err != nil {
		return Request{}, err
	}
	return r, r.validate()
}

func (r Request) validate() error {
	switch {
	case r.Kind != Object && r.Kind != Place:
		return refused("a stream of kind %d", r.Kind)
	case r.Offset < 0 || r.Checked < 0:
		return refused("a stream from byte %d, checked to %d", r.Offset, r.Checked)
	case r.Place < 0 || r.Place > 1<<31-1:
		return refused("place %d of a reduce", r.Place)
	case len(r.Reduce) > maxControl/2:
		return refused("the name of a reduce has %d bytes", len(r.Reduce))
	}
	return r.Object.Validate()
}

func appendGeneration(b []byte, g phalanx.Generation) []byte {
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, g.Epoch), g.Seq)
}

func (d *decoder) generation() phalanx.Generation {
	return phalanx.Generation{Epoch: d.u64(), Seq: d.u64()}
}

func appendPath(b []byte, path []phalanx.NodeID) []byte {
	b = binary.AppendUvarint(b, uint64(len(path)))
	for _, n := range path {
		b = appendString(b, n)
	}
	return b
}

func parsePath(p []byte) ([]phalanx.NodeID, error) {
	d := decoder{b: p}
	n := d.uvarint()
	if n > uint64(len(d.b)) { // each element has a byte at least
		return nil, refused("a path of %d nodes in %d bytes", n, len(d.b))
	}
	path := make([]phalanx.NodeID, n)
	for i := range path {
		path[i] = phalanx.NodeID(d.bytes())
	}
	return path, d.err(kindWait)
}

// appendFault writes an error as its kind and text. It cuts the text to fit.
func appendFault(b []byte, k phalanx.Kind, text string) []byte {
	return appendString(append(b, byte(k)), text[:min(len(text), maxControl-16)])
}

func parseFault(k frameKind, p []byte) (phalanx.Kind, string, error) {
	d := decoder{b: p}
	kind, text := phalanx.Kind(d.u8()), string(d.bytes())
	return kind, text, d.err(k)
}

func parseEnd(p []byte) (size int64, digest phalanx.Digest, idle time.Duration) {
	copy(digest[:], p[8:])
	return int64(binary.LittleEndian.Uint64(p)), digest, time.Duration(binary.LittleEndian.Uint64(p[24:]))
}
