//go:build !linux

package dataplane

import "os"

var pageSize = os.Getpagesize()

func mapMemory(n int64) ([]byte, error) { return make([]byte, n), nil }

// growMemory copies. Readers' slices of mem stay valid until the readers let go.
func growMemory(mem []byte, to, _ int64) ([]byte, error) {
	next := make([]byte, to)
	copy(next, mem)
	return next, nil
}

func shrinkMemory(mem []byte, n int64) []byte { return mem[:n:n] }

func unmapMemory([]byte) {}

// joinMemory never joins: two allocations of the heap are not contiguous.
func joinMemory(_, _ []byte) []byte { return nil }
