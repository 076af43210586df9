// Package conformance checks that a httpapi.Node behaves as its callers rely on:
// what a call returns, of which kind its errors are, and that it ends. The tests of
// package fakenode run it against the double, and those of the program against a
// real node, so that a test with the double proves something about the program.
//
// The suite checks what one member can do alone. It does not check what needs other
// members: objects that are lost, copies on other nodes, and Recover.
package conformance

import (
	"testing"

	"github.com/phalanx-go/phalanx/internal/httpapi"
)

// Memory is the memory cap in bytes that the nodes of begin must have.
const Memory = 64 << 20

// check is one promise.
type check struct {
	name string
	run  func(b *bed)
}

// Start begins a run of one task on the node, which goes on until end gives it its result, or why it fails.
type Start func(t *testing.T, id string) (end func(result []byte, why string))

// Run checks every promise on a node of its own, which begin starts. Each node must be
// empty, have the cap Memory, and end with its test.
func Run(t *testing.T, begin func(t *testing.T) (httpapi.Node, Start)) {
	for _, group := range []struct {
		name   string
		checks []check
	}{
		{"put", puts},
		{"bound twice", rebinds},
		{"memory", memories},
		{"open", opens},
		{"stream", streams},
		{"delete", deletes},
		{"stat", stats},
		{"list", lists},
		{"reduce", reduces},
		{"gather", gathers},
		{"prefetch", prefetches},
		{"cluster", clusters},
		{"workflows", workflows},
		{"arguments", arguments},
		{"contexts", contexts},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.checks {
				t.Run(c.name, func(t *testing.T) {
					n, start := begin(t)
					c.run(newBed(t, n, start))
				})
			}
		})
	}
}
