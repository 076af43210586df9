package directory

import (
	"testing"

	"github.com/phalanx-go/phalanx"
)

// A Delete first asks which generation there is, and then names that, once.
func TestDeleteThen(t *testing.T) {
	g := phalanx.Generation{Epoch: 1, Seq: 2}
	for _, c := range []struct {
		what    string
		d       Delete
		r       Result
		follows bool
	}{
		{"final", Delete{}, Result{State: Finished, Gen: g}, true},
		{"begun", Delete{}, Result{State: Begun, Gen: g}, true},
		{"lost", Delete{}, Result{State: Lost, Gen: g}, true},
		{"nobody has put it", Delete{}, Result{State: Unbound}, false},
		{"it is deleted", Delete{}, Result{State: Deleted, Gen: g}, false},
		{"an error", Delete{}, Result{Kind: phalanx.ErrUnavailable, State: Finished, Gen: g}, false},
		{"the second answer", Delete{Gen: g}, Result{State: Finished, Gen: g}, false},
	} {
		if next, follows := c.d.Then(c.r); follows != c.follows || follows && next != (Delete{Gen: g}) {
			t.Errorf("%s: %+v, %v", c.what, next, follows)
		}
	}
}
