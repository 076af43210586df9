package reduce

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx"
)

func TestANoteNamesEachSource(t *testing.T) {
	for _, n := range []int{1, 7, 8, 9, 1000, MaxSources} {
		sources := make([]phalanx.ObjectID, n)
		for i := range sources {
			sources[i] = phalanx.ObjectID(fmt.Sprintf("%d/%s", i, strings.Repeat("x", 200)))
		}
		for every := 1; every <= 3; every++ {
			var in, out []phalanx.ObjectID
			for i, id := range sources {
				if i%every == 0 {
					in = append(in, id)
				} else {
					out = append(out, id)
				}
			}
			note := Note(sources, in)
			if len(note) > 2+n/8 {
				t.Errorf("the note of %d sources has %d bytes", n, len(note))
			}
			gotIn, gotOut, err := ReadNote(sources, note)
			if err != nil || !slices.Equal(gotIn, in) || !slices.Equal(gotOut, out) {
				t.Errorf("of %d sources %d are in and %d out, not %d and %d: %v", n, len(gotIn), len(gotOut), len(in), len(out), err)
			}
		}
	}
}

func TestANoteOfAnotherRequestIsRefused(t *testing.T) {
	sources := []phalanx.ObjectID{"a", "b"}
	for _, note := range [][]byte{nil, {}, {noteVersion}, {2, 3}, {noteVersion, 3, 0}, []byte(`{"in":["a"],"out":["b"]}`)} {
		if in, out, err := ReadNote(sources, note); err == nil {
			t.Errorf("%q is read as %v and %v", note, in, out)
		}
	}
}
