package reduce

import (
	"errors"
	"reflect"
	"testing"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/reduce"
)

// The host gets the sources whose bytes are missing, in order, in the generation that the core has asked
// for; an empty one has bytes.
func TestCombineGetsItsSources(t *testing.T) {
	combine := func() *Combine {
		return &Combine{Attempt: 2, Bytes: [][]byte{nil, {1}, nil},
			CombineInline: core.CombineInline{Seq: 7, Inputs: []core.Input{{Source: "a", Gen: gen(3)}, {Source: "b", Gen: gen(4)}, {Source: "c", Gen: gen(5)}}}}
	}
	failed := func(f core.InlineFailed) Combined {
		f.Seq = 7
		return Combined{Attempt: 2, Seq: 7, Event: f}
	}
	c := combine()
	for _, want := range []int{0, 2} {
		if got := c.Missing(); got != want {
			t.Errorf("source %d is missing, want %d", got, want)
		}
		if bad, ok := c.Take(want, c.Inputs[want].Gen, nil); !ok {
			t.Errorf("source %d is refused: %+v", want, bad)
		}
	}
	if got := c.Missing(); got != -1 {
		t.Errorf("source %d is missing", got)
	}
	for what, try := range map[string]struct{ got, want Combined }{
		"the last failed": {c.OpFailed(2, phalanx.ErrInvalid, "bad"), failed(core.InlineFailed{Source: "c", Op: true, Kind: phalanx.ErrInvalid, Text: "bad"})},
		"made":            {c.Made([]byte{9}, phalanx.Digest{1}), Combined{Attempt: 2, Seq: 7, Event: core.InlineDone{Seq: 7, Size: 1, Digest: phalanx.Digest{1}}, Bytes: []byte{9}}},
		"unread":          {c.Unread(0, errors.New("no")), failed(core.InlineFailed{Source: "a", Kind: phalanx.ErrNotFound, Text: "no"})},
		"lost":            {c.Unread(0, &phalanx.Error{Kind: phalanx.ErrLost}), failed(core.InlineFailed{Source: "a", Kind: phalanx.ErrLost, Text: (&phalanx.Error{Kind: phalanx.ErrLost}).Error()})},
	} {
		if !reflect.DeepEqual(try.got, try.want) {
			t.Errorf("%s: %+v, want %+v", what, try.got, try.want)
		}
	}
	c = combine()
	got, ok := c.Take(0, gen(4), []byte{1})
	if want := failed(core.InlineFailed{Source: "a", Kind: phalanx.ErrReset, Text: "the source has generation " + gen(4).String() + " by now"}); ok || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
