package fakenode_test

import (
	"testing"

	"github.com/phalanx-go/phalanx/internal/httpapi"
	"github.com/phalanx-go/phalanx/internal/httpapi/conformance"
	"github.com/phalanx-go/phalanx/internal/httpapi/fakenode"
)

// The double behaves as a real node does.
func TestConformance(t *testing.T) {
	conformance.Run(t, func(*testing.T) httpapi.Node {
		n := fakenode.New()
		n.Info.Memory.Cap = conformance.Memory
		return n
	})
}
