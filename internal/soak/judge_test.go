package soak

import (
	"fmt"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/storenode"
)

// A call may find no memory if it has waited for some, or if pinned and reserved bytes on a
// node leave no room.
func TestNoSpaceIsExcused(t *testing.T) {
	const most, half = int64(nodeMemory), int64(nodeMemory) / 2
	text := func(needed, pinned, reserved int64) string {
		return fmt.Sprintf("no space: %d bytes are needed, 5 of %d are free, %d are pinned, %d are reserved: so", needed, most, pinned, reserved)
	}
	for _, c := range []struct {
		name  string
		order order
		took  time.Duration
		text  string
		right bool
	}{
		{"a put at once", order{Do: "put", Size: half}, 0, text(half, 0, 0), false},
		{"a put after the wait", order{Do: "put", Size: half}, storenode.MemoryWait, text(half, 0, 0), true},
		{"a put at its deadline", order{Do: "put", Size: half, Deadline: time.Second}, time.Second, text(half, 0, 0), true},
		{"a put beside pinned bytes", order{Do: "put", Size: half}, 0, text(half, half-9, 10), true},
		{"a put beside fewer", order{Do: "put", Size: half}, 0, text(half, half-10, 10), false},
		{"a put with another cap", order{Do: "put", Size: half}, 0, "9 bytes are needed, 5 of 9 are free, 9 are pinned, 9 are reserved", false},
		{"a put without numbers", order{Do: "put", Size: half}, 0, "no space", false},
		{"a put of unknown size", order{Do: "put", Size: half, Unsized: true}, 0, text(half, 0, 0), true},
		{"a small put of unknown size", order{Do: "put", Size: 10, Unsized: true}, 0, text(10, 0, 0), true}, // the node does not know that it is small
		{"a get beside pinned bytes", order{Do: "get"}, 0, text(half, half, 10), true},
		{"a get beside fewer", order{Do: "get"}, storenode.MemoryWait, text(half, 0, 10), false},
		{"a delete", order{Do: "delete"}, callDeadline, text(half, half, 10), false},
	} {
		if c.order.Deadline == 0 {
			c.order.Deadline = callDeadline
		}
		s := &soak{driving: &driving{began: time.Now(), faults: newFaults()}, ledger: &ledger{}}
		r := result{line: line{Kind: phalanx.ErrNoSpace, Took: c.took, Err: c.text}, process: &process{name: "a"}, order: c.order, answered: true}
		if err := s.excuse(&object{}, r, false); (err == nil) != c.right {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
