package cluster_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/storenode"
)

// A store answers a message that it does not take, on its own node and from another one: a
// value in the place of a pointer is a common mistake.
func TestStoreRefusesUnknownMessages(t *testing.T) {
	nodes := start(t, 2)
	for _, c := range []struct {
		message any
		says    string
	}{
		{storenode.Get{Object: "x"}, "takes no storenode.Get: if that is one of its messages, send a pointer to it"},
		{struct{ X int }{1}, "takes no struct { X int }"},
		{&messages.LookRequest{Object: "x"}, "takes no *messages.LookRequest"},
	} {
		_, err := nodes[0].Request(within(t), nodes[0].Store(), c.message)
		var e *phalanx.Error
		if !errors.As(err, &e) || e.Kind != phalanx.ErrInvalid || e.Node != nodes[0].ID() || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%T: %v", c.message, err)
		}
	}
	_, err := nodes[0].Request(within(t), nodes[1].Store(), &messages.LookRequest{Object: "x"})
	if !errors.Is(err, phalanx.ErrInvalid) {
		t.Errorf("to another node: %v", err)
	}
}
