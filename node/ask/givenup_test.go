package ask

import (
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

func TestWhatIsGrantedToARequestThatWasGivenUp(t *testing.T) {
	var g givenUp
	g.Add(7)
	for _, c := range []struct {
		what string
		num  uint64
		res  directory.Result
		want bool
	}{
		{"a lease", 7, directory.Result{Lease: 1}, true},
		{"a place in the queue", 7, directory.Result{Waiting: true}, true},
		{"a lease for another request", 8, directory.Result{Lease: 1}, false},
		{"no lease", 7, directory.Result{State: directory.Finished}, false},
		{"an error", 7, directory.Result{Kind: phalanx.ErrDeleted}, false},
		{"no answer of an owner", 7, directory.Result{NotOwner: true, Waiting: true}, false},
	} {
		if got := g.Grants(directory.Reply{Num: c.num, Result: c.res}); got != c.want {
			t.Errorf("%s: %v", c.what, got)
		}
	}
	for num, c := range []struct {
		body directory.Body
		res  directory.Result
		want bool
	}{
		{directory.Locate{Wait: true}, directory.Result{Kind: phalanx.ErrDeleted}, true},
		{directory.Locate{Wait: true}, directory.Result{State: directory.Begun}, true},
		{directory.Locate{Wait: true}, directory.Result{State: directory.Begun, Lease: 1}, false},                     // the receiver reads under that lease
		{directory.Locate{Wait: true}, directory.Result{State: directory.Finished, IsInline: true, Listed: 1}, false}, // it has the copy
		{directory.Begin{}, directory.Result{State: directory.Begun}, false},
	} {
		num := uint64(20 + num)
		g.Answered(num, c.body, c.res)
		if got := g.Grants(directory.Reply{Num: num, Result: directory.Result{Waiting: true}}); got != c.want {
			t.Errorf("a place in the queue for %T that was answered by %+v: %v", c.body, c.res, got)
		}
	}
	for num := range uint64(10 * givenUpKept) {
		g.Add(100 + num)
	}
	if len(g.given.nums) != givenUpKept || g.Grants(directory.Reply{Num: 7, Result: directory.Result{Lease: 1}}) {
		t.Errorf("the node remembers %d requests, want at most %d", len(g.given.nums), givenUpKept)
	}
	if last := uint64(100 + 10*givenUpKept - 1); !g.Grants(directory.Reply{Num: last, Result: directory.Result{Lease: 1}}) {
		t.Error("the node has forgotten the last request")
	}
}
