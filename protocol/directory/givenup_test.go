package directory

import (
	"testing"

	"github.com/phalanx-go/phalanx"
)

func TestWhatIsGrantedToARequestThatWasGivenUp(t *testing.T) {
	var g GivenUp
	g.Add(7)
	for _, c := range []struct {
		what string
		num  uint64
		res  Result
		want bool
	}{
		{"a lease", 7, Result{Lease: 1}, true},
		{"a place in the queue", 7, Result{Waiting: true}, true},
		{"a lease for another request", 8, Result{Lease: 1}, false},
		{"no lease", 7, Result{State: Finished}, false},
		{"an error", 7, Result{Kind: phalanx.ErrDeleted}, false},
		{"no answer of an owner", 7, Result{NotOwner: true, Waiting: true}, false},
	} {
		if got := g.Grants(Reply{Num: c.num, Result: c.res}); got != c.want {
			t.Errorf("%s: %v", c.what, got)
		}
	}
	for num, c := range []struct {
		body Body
		res  Result
		want bool
	}{
		{Locate{Wait: true}, Result{Kind: phalanx.ErrDeleted}, true},
		{Locate{Wait: true}, Result{State: Begun}, true},
		{Locate{Wait: true}, Result{State: Begun, Lease: 1}, false},                     // it is read by that
		{Locate{Wait: true}, Result{State: Finished, IsInline: true, Listed: 1}, false}, // it has the copy
		{Begin{}, Result{State: Begun}, false},
	} {
		num := uint64(20 + num)
		g.Answered(num, c.body, c.res)
		if got := g.Grants(Reply{Num: num, Result: Result{Waiting: true}}); got != c.want {
			t.Errorf("a place in the queue for %T that was answered by %+v: %v", c.body, c.res, got)
		}
	}
	for num := range uint64(10 * givenUpKept) {
		g.Add(100 + num)
	}
	if len(g.given.nums) != givenUpKept || g.Grants(Reply{Num: 7, Result: Result{Lease: 1}}) {
		t.Errorf("%d requests are remembered, at most %d are to be", len(g.given.nums), givenUpKept)
	}
	if last := uint64(100 + 10*givenUpKept - 1); !g.Grants(Reply{Num: last, Result: Result{Lease: 1}}) {
		t.Error("the last one is forgotten")
	}
}
