package reduce

import (
	"errors"
	"reflect"
	"testing"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/reduce"
)

func TestCheckSource(t *testing.T) {
	for _, c := range []struct {
		has, want phalanx.Generation
		kind      phalanx.Kind
	}{
		{gen(5), gen(5), 0},
		{gen(4), gen(5), phalanx.ErrNotFound},
		{gen(6), gen(5), phalanx.ErrReset},
		{phalanx.Generation{}, gen(5), phalanx.ErrNotFound},
	} {
		err := CheckSource(c.has, c.want)
		if (err == nil) != (c.kind == 0) || err != nil && err.Kind != c.kind {
			t.Errorf("%v for %v: %v, want %v", c.has, c.want, err, c.kind)
		}
	}
}

// A source moves with its first look, and then with each Every bytes. It ends once: whole, or failed.
func TestSource(t *testing.T) {
	moved, failed := core.SourceMoved{Gen: gen(5)}, errors.New("the copy is gone")
	type look struct {
		bytes  int64
		whole  bool
		failed error
		want   core.PlaceEvent
	}
	for name, looks := range map[string][]look{
		"whole": {{0, false, nil, moved}, {9, false, nil, nil}, {10, false, nil, moved}, {19, false, nil, nil}, {20, false, nil, moved},
			{21, true, nil, core.SourceComplete{Gen: gen(5)}}, {21, true, nil, nil}, {21, true, failed, nil}},
		"fails":      {{3, false, nil, moved}, {3, false, failed, core.SourceFailed{Gen: gen(5), Text: "the copy is gone"}}, {30, true, nil, nil}},
		"was whole":  {{21, true, failed, core.SourceFailed{Gen: gen(5), Text: "the copy is gone"}}},
		"whole soon": {{21, true, nil, core.SourceComplete{Gen: gen(5)}}, {21, true, failed, nil}},
	} {
		s := Source{Gen: gen(5), Every: 10}
		for i, l := range looks {
			if got := s.Sees(l.bytes, l.whole, l.failed); !reflect.DeepEqual(got, l.want) {
				t.Errorf("%s: look %d: %v, want %v", name, i, got, l.want)
			}
		}
		if !s.Over() {
			t.Errorf("%s: it is not over", name)
		}
	}
}
