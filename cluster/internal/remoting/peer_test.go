package remoting

import (
	"testing"

	"github.com/asynkron/protoactor-go/remote"
)

// A buffer of letters is emptied when these are sent, and given back if it has grown large.
func TestEmptied(t *testing.T) {
	few := emptied([]letter{{message: &remote.RemoteMessage{}}})
	if cap(few) == 0 || few[:1][0].message != nil {
		t.Errorf("a small buffer is %v", few[:cap(few)])
	}
	if many := emptied(make([]letter, maxIdle+1)); many != nil {
		t.Errorf("a large buffer keeps room for %d letters", cap(many))
	}
}
