package dataplane

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/wire"
)

// A frame is a header of 20 bytes, little-endian, and a payload:
//
//	magic u16 | version u8 | kind u8 | length u64 | payload CRC u32 | header CRC u32
//
// Both CRCs are Castagnoli; that of the header covers the 16 bytes before it.
// Data has no payload CRC: the checks of its pieces cover it.

const (
	frameMagic   = 0x5850 // "PX"
	frameVersion = 1
	headerSize   = 20
)

type frameKind uint8

const (
	kindHello   frameKind = iota + 1 // dialer → listener, first
	kindHelloOK                      // the answer to a hello
	kindRefused                      // the other answer; the listener then closes the connection
	kindMessage                      // an opaque payload
	kindOpen                         // receiver → sender: a Request
	kindData                         // the next bytes
	kindChecks                       // of pieces, in order
	kindWait                         // the sender has nothing yet; its path to the origin
	kindReset                        // ends a stream: another generation
	kindBusy                         // ends a stream: the sender serves others
	kindGone                         // ends a stream: an error
	kindEnd                          // ends a complete stream, and says how long the sender had nothing to send
)

const (
	// MaxMessage is the longest payload of a message.
	MaxMessage = wire.MaxMessage
	// MaxData is the longest payload of a data frame.
	MaxData = 256 << 10

	maxControl = 4 << 10
	maxPath    = 64 << 10
	maxChecks  = 256 // in one frame
)

// limits are the shortest and the longest payload of each kind.
var limits = [...]struct {
	name     string
	min, max uint64
}{
	kindHello:   {"hello", 1, maxControl},
	kindHelloOK: {"hello ok", 1, maxControl},
	kindRefused: {"refused", 1, maxControl},
	kindMessage: {"message", 0, MaxMessage},
	kindOpen:    {"open", 1, maxControl},
	kindData:    {"data", 1, MaxData},
	kindChecks:  {"checks", 8 + checkSize, 8 + maxChecks*checkSize},
	kindWait:    {"wait", 1, maxPath},
	kindReset:   {"reset", 16, 16},
	kindBusy:    {"busy", 0, 0},
	kindGone:    {"gone", 1, maxControl},
	kindEnd:     {"end", 32, 32},
}

func (k frameKind) String() string {
	if k == 0 || int(k) >= len(limits) {
		return fmt.Sprintf("kind %d", uint8(k))
	}
	return limits[k].name
}

type header struct {
	kind   frameKind
	length int
	crc    uint32 // of the payload
}

func appendHeader(b []byte, k frameKind, length int, crc uint32) []byte {
	at := len(b)
	b = binary.LittleEndian.AppendUint16(b, frameMagic)
	b = append(b, frameVersion, byte(k))
	b = binary.LittleEndian.AppendUint64(b, uint64(length))
	b = binary.LittleEndian.AppendUint32(b, crc)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[at:], castagnoli))
}

// appendFrame appends a whole control frame.
func appendFrame(b []byte, k frameKind, payload []byte) []byte {
	b = appendHeader(b, k, len(payload), crcOf(payload))
	return append(b, payload...)
}

// parseHeader reads the header in b[:headerSize]. Its errors are of kind ErrRefused, or ErrCorrupt
// for a checksum. The caller adds the node.
func parseHeader(b []byte) (header, error) {
	bad := func(k phalanx.Kind, format string, args ...any) (header, error) {
		return header{}, &phalanx.Error{Op: "frame", Kind: k, Err: fmt.Errorf(format, args...)}
	}
	if m := binary.LittleEndian.Uint16(b); m != frameMagic {
		return bad(phalanx.ErrRefused, "the magic number is %#04x instead of %#04x: the peer speaks another protocol", m, frameMagic)
	}
	if b[2] != frameVersion {
		return bad(phalanx.ErrRefused, "version %d of the data protocol, only %d is understood", b[2], frameVersion)
	}
	if want, is := binary.LittleEndian.Uint32(b[16:]), crc32.Checksum(b[:16], castagnoli); want != is {
		return bad(phalanx.ErrCorrupt, "the header's checksum is %08x instead of %08x", is, want)
	}
	k, n := frameKind(b[3]), binary.LittleEndian.Uint64(b[4:])
	if k == 0 || int(k) >= len(limits) {
		return bad(phalanx.ErrRefused, "there is no frame of %v", k)
	}
	if l := limits[k]; n < l.min || n > l.max {
		return bad(phalanx.ErrRefused, "a %v frame of %d bytes, it has %d to %d", k, n, l.min, l.max)
	}
	return header{kind: k, length: int(n), crc: binary.LittleEndian.Uint32(b[12:])}, nil
}

func crcOf(p []byte) uint32 { return crc32.Checksum(p, castagnoli) }

// checkPayload compares a control payload with its header.
func (h header) checkPayload(p []byte) error {
	if is := crcOf(p); is != h.crc {
		return &phalanx.Error{Op: "frame", Kind: phalanx.ErrCorrupt,
			Err: fmt.Errorf("the checksum of a %v frame is %08x instead of %08x", h.kind, is, h.crc)}
	}
	return nil
}

// withNode names the peer in an error of this package.
func withNode(err error, op string, node phalanx.NodeID) error {
	if e, ok := err.(*phalanx.Error); ok {
		named := *e
		named.Op, named.Node = op, node
		return &named
	}
	return &phalanx.Error{Op: op, Node: node, Kind: phalanx.ErrUnavailable, Err: err}
}
