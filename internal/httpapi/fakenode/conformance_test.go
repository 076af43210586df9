package fakenode_test

import (
	"testing"

	"github.com/phalanx-go/phalanx/internal/httpapi"
	"github.com/phalanx-go/phalanx/internal/httpapi/conformance"
	"github.com/phalanx-go/phalanx/internal/httpapi/fakenode"
)

// The double behaves as a real node does.
func TestConformance(t *testing.T) {
	conformance.Run(t, func(*testing.T) (httpapi.Node, conformance.Start) {
		n := fakenode.New()
		n.Info.Memory.Cap = conformance.Memory
		return n, func(_ *testing.T, id string) func([]byte, string) {
			n.StartRun(id)
			return func(result []byte, why string) { n.EndRun(id, result, why) }
		}
	})
}
