package workflow

import (
	"slices"
	"testing"
)

// A reduce whose output is lost is made again of what is there: an input that is lost as well, and that nobody else needs, is not.
func TestALostReduceIsMadeAgainOfWhatIsThere(t *testing.T) {
	h := host(t, "a off; b u; r needs:1,off < a b; z nd < r; y nd,off < a b")
	h.end("a do", Outcome{})
	h.end("b do", Outcome{})
	h.end("r do", Outcome{})
	h.end("y do", Outcome{})
	h.lose(1)
	h.lose(2)
	h.end("z do", Outcome{Lost: true, Failed: "r is gone"})
	h.later()
	set := records[Recovering](h)
	if len(set) != 1 || !slices.Equal(set[0].Set, []int{2, 3}) {
		t.Errorf("%+v", set)
	}
}
