package memory

import (
	"fmt"
	"time"
)

// Patience says whether a request waits while it does not fit.
type Patience uint8

// The kinds of requests.
const (
	Waits   Patience = iota // as long as it takes
	Bounded                 // waits, unless memory that lasts stands in its way
	Tries                   // does not wait
	Takes                   // does not wait, and takes free memory also during another's turn
)

func (p Patience) String() string { return [...]string{"waits", "bounded", "tries", "takes"}[p] }

// Event is a change of a node's memory, or of requests for it.
type Event interface{ event() }

type (
	// Ask is a request for Bytes, which are not negative. Its ID is unique.
	Ask struct {
		ID       uint64
		Bytes    int64
		Patience Patience
	}
	// Gone tells that a request does not wait any more.
	Gone struct{ ID uint64 }
	// Taken tells of bytes that were taken without a request: they may exceed the cap.
	Taken struct{ Bytes int64 }
	// Freed tells of bytes that were given back.
	Freed struct{ Bytes int64 }
	// Lasts tells that so many more, or less, of the taken bytes last.
	Lasts struct{ Bytes int64 }
	// Tick tells that Due has come.
	Tick struct{}
)

func (Ask) event()   {}
func (Gone) event()  {}
func (Taken) event() {}
func (Freed) event() {}
func (Lasts) event() {}
func (Tick) event()  {}

// Reason is why a request is refused.
type Reason uint8

// The reasons.
const (
	OverCap Reason = iota + 1 // it is larger than the cap
	Lasting                   // memory that lasts stands in its way
	NotFree                   // it does not wait, and does not fit now
)

func (r Reason) String() string {
	return [...]string{OverCap: "over the cap", Lasting: "memory that lasts is in its way", NotFree: "not free now"}[r]
}

// Effect is a decision of the Queue.
type Effect interface{ effect() }

type (
	// Grant says that a request has its bytes.
	Grant struct{ ID uint64 }
	// Refuse is the answer to an Ask that neither gets its bytes nor waits.
	Refuse struct {
		ID  uint64
		Why Reason
	}
	// Evict says that Need has grown: the host has to make room.
	Evict struct{}
)

func (Grant) effect()  {}
func (Refuse) effect() {}
func (Evict) effect()  {}

func (e Grant) String() string  { return fmt.Sprintf("grant %d", e.ID) }
func (e Refuse) String() string { return fmt.Sprintf("refuse %d: %v", e.ID, e.Why) }
func (e Evict) String() string  { return "evict" }

// Config of a Queue.
type Config struct {
	Cap      int64
	Patience time.Duration // until a request that waits gets its turn; 0: 2 s
	Turn     time.Duration // how long that lasts at most; 0: 2 s
	Pause    time.Duration // between two turns; 0: 1 s
}

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{{&c.Patience, 2 * time.Second}, {&c.Turn, 2 * time.Second}, {&c.Pause, time.Second}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	return c
}
