package dataplane

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"net"
	"reflect"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx"
)

// badHeaders are invalid headers, by their fault.
func badHeaders() map[string][]byte {
	seal := func(b []byte) []byte {
		binary.LittleEndian.PutUint32(b[16:], crc32.Checksum(b[:16], castagnoli))
		return b
	}
	change := func(f func(b []byte)) []byte {
		b := appendHeader(nil, kindData, 100, 0)
		f(b)
		return seal(b)
	}
	length := func(k frameKind, n uint64) []byte {
		return change(func(b []byte) { b[3] = byte(k); binary.LittleEndian.PutUint64(b[4:], n) })
	}
	sum := appendHeader(nil, kindData, 100, 0)
	sum[17] ^= 1
	all := map[string][]byte{
		"magic":          change(func(b []byte) { b[0]++ }),
		"version":        change(func(b []byte) { b[2]++ }),
		"kind 0":         change(func(b []byte) { b[3] = 0 }),
		"kind 200":       change(func(b []byte) { b[3] = 200 }),
		"checksum":       sum,
		"length of 2^63": length(kindData, 1<<63),
	}
	for k := kindHello; k <= kindEnd; k++ {
		all["too long: "+k.String()] = length(k, limits[k].max+1)
		if limits[k].min > 0 {
			all["too short: "+k.String()] = length(k, limits[k].min-1)
		}
	}
	return all
}

func TestBadHeaders(t *testing.T) {
	for name, b := range badHeaders() {
		want := phalanx.ErrRefused
		if name == "checksum" {
			want = phalanx.ErrCorrupt
		}
		if _, err := parseHeader(b); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	for k := kindHello; k <= kindEnd; k++ {
		h, err := parseHeader(appendHeader(nil, k, int(limits[k].max), 7))
		if err != nil || h.kind != k || h.length != int(limits[k].max) || h.crc != 7 {
			t.Errorf("%v: %+v %v", k, h, err)
		}
	}
}

func TestPayloadsComeBack(t *testing.T) {
	h := hello{role: roleStreams, features: 3, view: 1 << 40, cluster: "c", from: "a#1", to: "b#2"}
	if got, err := parseHello(kindHello, h.append(nil)); err != nil || got != h {
		t.Errorf("%+v %v", got, err)
	}
	r := Request{Kind: Place, Object: "grads/7", Generation: phalanx.Generation{Epoch: 1, Seq: 2}, Offset: 1 << 41, Checked: 5,
		Lease: 9, Beside: true, Reduce: "r", Place: 12, PlaceGeneration: PlaceGeneration{Attempt: 3, Seq: 4}}
	if got, err := parseRequest(r.append(nil)); err != nil || got != r {
		t.Errorf("%+v %v", got, err)
	}
	path := []phalanx.NodeID{"a#1", "b#2"}
	if got, err := parsePath(appendPath(nil, path)); err != nil || !reflect.DeepEqual(got, path) {
		t.Errorf("%v %v", got, err)
	}
	if k, text, err := parseFault(kindGone, appendFault(nil, phalanx.ErrDeleted, strings.Repeat("x", 9999))); err != nil || k != phalanx.ErrDeleted || len(text) != maxControl-16 {
		t.Errorf("%v %d %v", k, len(text), err)
	}
}

func TestBadRequests(t *testing.T) {
	for name, change := range map[string]func(*Request){
		"no kind":           func(r *Request) { r.Kind = 0 },
		"no object":         func(r *Request) { r.Object = "" },
		"a negative offset": func(r *Request) { r.Offset = -1 },
		"a long reduce":     func(r *Request) { r.Reduce = strings.Repeat("r", 3000) },
	} {
		r := request
		change(&r)
		if _, err := parseRequest(r.append(nil)); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func FuzzHeader(f *testing.F) {
	for _, b := range badHeaders() {
		f.Add(b)
	}
	f.Add(appendHeader(nil, kindEnd, 32, 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < headerSize {
			return
		}
		h, err := parseHeader(b[:headerSize])
		if err != nil {
			if !errors.Is(err, phalanx.ErrRefused) && !errors.Is(err, phalanx.ErrCorrupt) {
				t.Fatalf("%v", err)
			}
			return
		}
		if !bytes.Equal(appendHeader(nil, h.kind, h.length, h.crc), b[:headerSize]) {
			t.Fatalf("%x is taken for %+v", b, h)
		}
	})
}

// FuzzPayloads feeds every decoder. A payload that a decoder accepts must encode to the same bytes.
func FuzzPayloads(f *testing.F) {
	f.Add(hello{role: roleMessages, cluster: "c", from: "a#1", to: "b#1"}.append(nil))
	f.Add(request.append(nil))
	f.Add(appendPath(nil, []phalanx.NodeID{"a#1", ""}))
	f.Add(appendFault(nil, phalanx.ErrLost, "text"))
	f.Add(binary.AppendUvarint(nil, 1<<60))
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, err := parseHello(kindHello, b); err == nil {
			if again, err := parseHello(kindHello, h.append(nil)); err != nil || again != h {
				t.Fatalf("%+v %+v %v", h, again, err)
			}
		}
		if r, err := parseRequest(b); err == nil {
			if again, err := parseRequest(r.append(nil)); err != nil || again != r {
				t.Fatalf("%+v %+v %v", r, again, err)
			}
		}
		if p, err := parsePath(b); err == nil {
			if again, err := parsePath(appendPath(nil, p)); err != nil || len(again) != len(p) {
				t.Fatalf("%v %v %v", p, again, err)
			}
		}
		if k, text, err := parseFault(kindGone, b); err == nil && len(text) < maxControl-16 {
			if k2, again, err := parseFault(kindGone, appendFault(nil, k, text)); err != nil || k2 != k || again != text {
				t.Fatalf("%v %q %v %q %v", k, text, k2, again, err)
			}
		}
		if len(b) > 8 {
			_ = eachCheck(b, func(piece int64, _ Check) error {
				if piece < 0 {
					t.Fatalf("the check of piece %d", piece)
				}
				return nil
			})
		}
	})
}

// FuzzConnection lets a peer send anything: the reader ends with an error or at the end, and never
// keeps more than the largest frame.
func FuzzConnection(f *testing.F) {
	f.Add(appendFrame(appendFrame(nil, kindMessage, []byte("hi")), kindBusy, nil), 3)
	f.Add(append(appendHeader(nil, kindData, 300, 0), make([]byte, 300)...), 600)
	f.Fuzz(func(t *testing.T, b []byte, ahead int) {
		in := newFrameReader(&replay{r: bytes.NewReader(b)}, max(16, min(ahead, 4096)))
		into := make([]byte, 100)
		for {
			h, err := in.next()
			if err != nil {
				return
			}
			if h.kind != kindData {
				if _, err := in.payload(h); err != nil {
					return
				}
			}
			for left := h.length; h.kind == kindData && left > 0; {
				n, err := in.into(into[:min(left, len(into))])
				if left -= n; err != nil {
					return
				}
			}
			if len(in.buf) > MaxMessage+4096 {
				t.Fatalf("%d bytes are kept", len(in.buf))
			}
		}
	})
}

// replay is a connection from which a test reads given bytes.
type replay struct {
	net.Conn
	r io.Reader
}

func (r *replay) Read(p []byte) (int, error) { return r.r.Read(p) }
