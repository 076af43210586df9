package workflow

import (
	"cmp"
	"slices"

	"github.com/phalanx-go/phalanx"
)

// Bounds of letters.
const (
	MaxWhole  = 256 << 10 // bytes of a letter that goes in one message; longer ones are cut
	MaxLetter = 96 << 20  // bytes of any letter
	maxJoined = 256 << 20 // bytes of all letters of which not all pieces are there
)

// Piece is a part of a letter that is too long for one message.
type Piece struct {
	Stream uint64 // rises with each letter that a sender cuts
	Offset int
	Size   int // of the whole letter
	Bytes  []byte
}

// Cut returns the pieces of a letter. They share its bytes.
func Cut(stream uint64, letter []byte) (all []Piece) {
	for at := 0; at < len(letter); at += MaxWhole {
		all = append(all, Piece{Stream: stream, Offset: at, Size: len(letter), Bytes: letter[at:min(at+MaxWhole, len(letter))]})
	}
	return all
}

// Joiner puts letters together. The pieces of a letter come in order, since messages between two nodes do; if one is
// lost, the letter is, and comes again as another one. So at most one letter of each sender is under way.
type Joiner struct {
	letters map[phalanx.NodeID]*letter
	order   []phalanx.NodeID // of letters, the oldest first
	bytes   int
	most    int // bytes of letters of which not all pieces are there; 0: maxJoined
}

type letter struct {
	stream uint64
	size   int
	bytes  []byte
}

// Join takes a piece and returns the letter that it completes, or nil. The caller leaves the piece's bytes to it.
func (j *Joiner) Join(from phalanx.NodeID, p Piece) []byte {
	l := j.letters[from]
	if l != nil && (l.stream != p.Stream || len(l.bytes) != p.Offset || l.size != p.Size) {
		if p.Stream < l.stream {
			return nil
		}
		j.Forget(from)
		l = nil
	}
	if p.Size > MaxLetter || len(p.Bytes) == 0 || p.Offset+len(p.Bytes) > p.Size || l == nil && p.Offset != 0 {
		return nil
	}
	if l == nil {
		l = &letter{stream: p.Stream, size: p.Size}
		if j.letters == nil {
			j.letters = map[phalanx.NodeID]*letter{}
		}
		j.letters[from] = l
		j.order = append(j.order, from)
	}
	l.bytes = append(l.bytes, p.Bytes...) // it grows as bytes come, whatever Size says
	j.bytes += len(p.Bytes)
	if len(l.bytes) == l.size {
		j.Forget(from)
		return l.bytes
	}
	for j.bytes > cmp.Or(j.most, maxJoined) {
		j.Forget(j.order[0])
	}
	return nil
}

// Keep drops what is there of letters of all but these senders.
func (j *Joiner) Keep(senders []phalanx.NodeID) {
	for _, from := range slices.Clone(j.order) {
		if !slices.Contains(senders, from) {
			j.Forget(from)
		}
	}
}

// Forget drops what is there of a letter of a sender.
func (j *Joiner) Forget(from phalanx.NodeID) {
	l := j.letters[from]
	if l == nil {
		return
	}
	delete(j.letters, from)
	j.bytes -= len(l.bytes)
	j.order = slices.DeleteFunc(j.order, func(n phalanx.NodeID) bool { return n == from })
}
