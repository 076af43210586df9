package reduce

import (
	"testing"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/reduce"
)

func TestRequestText(t *testing.T) {
	of := func(op phalanx.Op, num int, sources ...phalanx.ObjectID) string {
		return string(RequestText(core.Config{Op: op, Num: num, Sources: sources}))
	}
	all := of(phalanx.Sum, 2, "a", "b")
	if want := `"sum" 2 2 "a" "b"`; all != want { // nodes of another version compare it, too
		t.Errorf("the text is %s, not %s", all, want)
	}
	if got := of(phalanx.Sum, 0, "a", "b"); got != all {
		t.Errorf("without a number, which means all, the text is %s, not %s", got, all)
	}
	elsewhere := core.Config{Target: "t", Op: phalanx.Sum, Num: 2, Sources: []phalanx.ObjectID{"a", "b"}, Node: "n", Degree: 2, Attempt: 3, Shared: true}
	if got := string(RequestText(elsewhere)); got != all {
		t.Errorf("what another node asks for counts as another request: %s, not %s", got, all)
	}
	for what, other := range map[string]string{
		"another op":      of(phalanx.Max, 2, "a", "b"),
		"fewer sources":   of(phalanx.Sum, 1, "a", "b"),
		"another source":  of(phalanx.Sum, 2, "a", "c"),
		"another order":   of(phalanx.Sum, 2, "b", "a"),
		"another cut":     of(phalanx.Sum, 2, `a" "b`),
		"one source more": of(phalanx.Sum, 2, "a", "b", "c"),
	} {
		if other == all {
			t.Errorf("%s makes the same request: %s", what, other)
		}
	}
}
