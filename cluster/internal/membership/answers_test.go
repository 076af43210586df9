package membership

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/phalanx-go/phalanx/protocol/join"
)

// The processes of all nodes are gone only if each of their addresses refuses connections. A node whose
// name has several addresses listens on one of them, and may hang, or be cut off.
func TestAllOthersAreGone(t *testing.T) {
	refuses := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	gone := errors.Join(fmt.Errorf("no node runs there: %w", refuses))
	self := answered{answer: join.Answer{From: "a#1"}}
	for name, c := range map[string]struct {
		said []answered
		want bool
	}{
		"each refuses":                           {[]answered{{err: gone}, {err: errors.Join(refuses, refuses)}}, true},
		"each but this one refuses":              {[]answered{{err: gone}, self}, true},
		"there is only this one":                 {[]answered{self}, false},
		"one is silent":                          {[]answered{{err: gone}, {err: errors.Join(context.DeadlineExceeded)}}, false},
		"one address refuses, and one is silent": {[]answered{{err: gone}, {err: errors.Join(refuses, context.DeadlineExceeded)}}, false},
		"one answers":                            {[]answered{{err: gone}, {answer: join.Answer{From: "b#1"}}}, false},
		"one has no known address":               {[]answered{{err: gone}, {err: &net.DNSError{IsNotFound: true}}}, false},
		"one was not asked":                      {[]answered{{err: gone}, {}}, false},
	} {
		a := &answers{self: "a#1", of: map[string]answered{}}
		for i, said := range c.said {
			said.seed = fmt.Sprint(i)
			a.note(said)
		}
		if got := a.deserted(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
