package reduce

import (
	"fmt"

	"github.com/phalanx-go/phalanx"
)

// MaxSources bounds the sources of a Reduce. With more of them the request is
// ErrInvalid.
const MaxSources = 1 << 17

// MaxDegree bounds the children of one place: a command names all of them, and is one
// message.
const MaxDegree = 8192

// noteVersion is the first byte of a note.
const noteVersion = 1

// Note returns the answer of a Reduce as the directory records it: one bit for
// each of its sources, set for sources in the result. Only a node that asks the
// same again needs the answer, and has the list of sources itself. In has its
// sources in the order of the request, as Finalise has them.
func Note(sources, in []phalanx.ObjectID) []byte {
	note := make([]byte, 1+(len(sources)+7)/8)
	note[0] = noteVersion
	for i, id := range sources {
		if len(in) > 0 && in[0] == id {
			note[1+i/8] |= 1 << (i % 8)
			in = in[1:]
		}
	}
	return note
}

// ReadNote is the inverse of Note: it returns which of the sources are in the
// result and which are not.
func ReadNote(sources []phalanx.ObjectID, note []byte) (in, out []phalanx.ObjectID, err error) {
	if want := 1 + (len(sources)+7)/8; len(note) != want || note[0] != noteVersion {
		return nil, nil, fmt.Errorf("the note of %d sources has %d bytes of version %d, not %d of version %d",
			len(sources), len(note), append(note, 0)[0], want, noteVersion)
	}
	for i, id := range sources {
		if note[1+i/8]&(1<<(i%8)) != 0 {
			in = append(in, id)
		} else {
			out = append(out, id)
		}
	}
	return in, out, nil
}
