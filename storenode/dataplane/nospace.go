package dataplane

import (
	"errors"
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/memory"
)

// These errors tell a caller why it gets no memory, and a remedy.
var (
	errNotNow  = errors.New("the request cannot wait: " + moreRoom)
	errLasting = errors.New("evictions cannot free enough memory: " + moreRoom)
)

const moreRoom = "delete objects, use another node, or start the node with a larger --memory"

// waited is the error of a request that has waited for so long.
type waited time.Duration

func (w waited) Error() string {
	return fmt.Sprintf("none became free for it within %v: try again, wait longer (--memory-wait), delete objects, or use another node", time.Duration(w))
}

func reasonOf(why memory.Reason) error {
	if why == memory.Lasting {
		return errLasting
	}
	return errNotNow
}

// check refuses requests that can never be granted.
func (b *Budget) check(n int64) error {
	if n < 0 {
		return &phalanx.Error{Op: "reserve", Kind: phalanx.ErrInvalid, Err: fmt.Errorf("%d bytes", n)}
	}
	if n > b.cap {
		return &phalanx.Error{Op: "reserve", Kind: phalanx.ErrNoSpace,
			Err: fmt.Errorf("%d bytes are more than the cap of %d", n, b.cap)}
	}
	return nil
}

// Lack returns the error of a caller that stops waiting for n bytes for the reason why: ErrNoSpace,
// or ErrDeadline if no request for so many bytes waits, because it was granted or has not begun.
func (b *Budget) Lack(n int64, why error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.queue.Waits(n) {
		return &phalanx.Error{Op: "reserve", Kind: phalanx.ErrDeadline, Err: fmt.Errorf("the node had %d bytes of free memory, but the call had no time to begin", n)}
	}
	return b.full(n, why)
}

// full says in numbers why there is no room for n bytes. It needs mu.
func (b *Budget) full(n int64, why error) error {
	waiting := ""
	if requests, bytes := b.queue.Waiting(); requests > 0 {
		waiting = fmt.Sprintf(", %d are waited for", bytes)
	}
	return &phalanx.Error{Op: "reserve", Kind: phalanx.ErrNoSpace,
		Err: fmt.Errorf("%d bytes are needed, %d of %d are free, %d are pinned, %d are reserved%s: %w",
			n, max(b.cap-b.queue.Used(), 0), b.cap, b.pinned, b.reserved, waiting, why)}
}
