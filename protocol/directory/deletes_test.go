package directory

import (
	"testing"
	"time"
)

// An owner remembers the Deletes that it has answered for as long as a copy may come, and
// no longer: also if nobody deletes anything after that.
func TestAnsweredDeletesAreForgotten(t *testing.T) {
	for _, n := range []int{10, 1000, 100_000} {
		var d deletes
		for i := range n {
			d.add("a", uint64(i+1), time.Duration(i)*time.Microsecond)
		}
		last := Request{From: "a", Num: uint64(n)}
		if d.expire(endedLife - 1); len(d.until) != n || !d.has(last) {
			t.Errorf("%d of %d are remembered after nearly %v", len(d.until), n, endedLife)
		}
		if d.expire(2 * endedLife); d.until != nil || d.order != nil || d.has(last) {
			t.Errorf("%d of %d are remembered after %v", len(d.until), n, 2*endedLife)
		}
	}
}
