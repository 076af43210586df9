package main

import (
	"testing"

	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/httpapi"
	"github.com/phalanx-go/phalanx/internal/httpapi/conformance"
)

// A node as the program serves it keeps what the tests with package fakenode rely on.
func TestConformance(t *testing.T) {
	conformance.Run(t, func(t *testing.T) httpapi.Node {
		n, err := cluster.Join(t.Context(), cluster.Config{Name: "n1", Memory: conformance.Memory, Shards: 1, Logger: quiet(), Services: []cluster.Service{barrier.Service()}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(n.Close)
		return servedNode(n)
	})
}
