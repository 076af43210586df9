package workflow

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/phalanx-go/phalanx"
)

// Letters of several senders come together, and a lost piece takes only its own letter with it.
func TestPieces(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 1))
		var j Joiner
		var streams [3]struct {
			letter []byte
			pieces []Piece
			lost   bool
			n      uint64
		}
		whole := 0
		for range 200 {
			i := r.IntN(len(streams))
			s, from := &streams[i], phalanx.NodeID(fmt.Sprint(i))
			if len(s.pieces) == 0 {
				s.n++
				s.lost = false
				s.letter = bytes.Repeat([]byte{byte(s.n)}, 1+r.IntN(3*MaxWhole))
				s.pieces = Cut(s.n, s.letter)
			}
			p := s.pieces[0]
			s.pieces = s.pieces[1:]
			if r.IntN(10) == 0 {
				s.lost = true
				continue
			}
			got := j.Join(from, p)
			if len(s.pieces) == 0 && !s.lost {
				whole++
				if !bytes.Equal(got, s.letter) {
					t.Fatalf("seed %d: a letter of %d bytes has become one of %d", seed, len(s.letter), len(got))
				}
			} else if got != nil {
				t.Fatalf("seed %d: a letter that is not complete has %d bytes", seed, len(got))
			}
		}
		if whole == 0 {
			t.Errorf("seed %d: no letter was complete", seed)
		}
	}
}

// No sender has the memory of a receiver grow without bounds, whatever its pieces say.
func TestPiecesAreBounded(t *testing.T) {
	j := Joiner{most: 1 << 20}
	piece := make([]byte, MaxWhole)
	for i := range 20 {
		from := phalanx.NodeID(fmt.Sprint(i))
		for at := 0; at < 1<<20; at += MaxWhole {
			if j.Join(from, Piece{Stream: 1, Offset: at, Size: MaxLetter, Bytes: piece}) != nil {
				t.Fatal("a letter is complete")
			}
		}
		if j.bytes > j.most {
			t.Fatalf("there are %d bytes", j.bytes)
		}
	}
	for _, p := range []Piece{{Stream: 9, Size: MaxLetter + 1, Bytes: piece}, {Stream: 9, Size: 10, Bytes: piece}, {Stream: 9, Size: 10}, {Stream: 9, Offset: 5, Size: 10, Bytes: piece[:5]}} {
		if j.Join("x", p) != nil || j.letters["x"] != nil {
			t.Errorf("a piece at %d of %d was taken", p.Offset, p.Size)
		}
	}
}

// Nothing stays of the letters of nodes that have left.
func TestJoinerKeepsMembersOnly(t *testing.T) {
	var j Joiner
	for _, from := range []phalanx.NodeID{"a", "b", "c"} {
		j.Join(from, Piece{Stream: 1, Size: 2, Bytes: []byte("x")})
	}
	j.Keep([]phalanx.NodeID{"b"})
	if len(j.letters) != 1 || j.letters["b"] == nil || j.bytes != 1 || len(j.order) != 1 {
		t.Errorf("%d letters of %d bytes stay, of %q", len(j.letters), j.bytes, j.order)
	}
	if got := j.Join("a", Piece{Stream: 1, Offset: 1, Size: 2, Bytes: []byte("y")}); got != nil {
		t.Errorf("the rest of a letter makes %q", got)
	}
	if got := j.Join("b", Piece{Stream: 1, Offset: 1, Size: 2, Bytes: []byte("y")}); string(got) != "xy" {
		t.Errorf("a letter of a member is %q", got)
	}
}
