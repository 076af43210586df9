package ledger

import (
	"errors"
	"fmt"
	"time"
)

// Config is how a Core behaves. The zero value of a field means the default, but for the three
// names of the ledger and the disk.
type Config struct {
	Ledger uint64 // names the ledger: a Core refuses the messages of another one
	Opened uint64 // how often the disk was opened, this time included: at least 1
	Run    uint64 // a random number that the host draws as it opens the disk

	HeartbeatEvery time.Duration // of the leader; 100 ms
	SilentAfter    time.Duration // after so much silence of the leader the others campaign; 1 s
	Stagger        time.Duration // between the campaigns of two replicas; 10 ms
	SleepAfter     time.Duration // a leader that nothing was asked for so long has the group sleep; 2 s
	SleepEvery     time.Duration // its heartbeats while it sleeps; 5 s
	LateAfter      time.Duration // an append that waits so long has stalled, and a sync that takes so long is late; 2 s
	HandOverFor    time.Duration // a transfer of leadership that takes longer has failed; 1 s

	MaxEntry       int // bytes of an encoded append; 256 KB
	MaxUncommitted int // bytes of the encoded appends that are not committed; 16 MB
	MaxReads       int // reads that wait; 4096

	LogEntries  int // the log is made shorter when it has more entries; 8192
	LogBytes    int // or more bytes; 16 MB
	StreamBytes int // while a snapshot streams the log may have so many bytes; 256 MB
}

// electionTicks returns for how many heartbeats raft's leader waits for a majority before it steps
// down. Raft also gives up a transfer after so many.
func (c Config) electionTicks() int {
	return int((c.SilentAfter + c.HeartbeatEvery - 1) / c.HeartbeatEvery)
}

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	size := func(n *int, to int) {
		if *n == 0 {
			*n = to
		}
	}
	set(&c.HeartbeatEvery, 100*time.Millisecond)
	set(&c.SilentAfter, time.Second)
	set(&c.Stagger, 10*time.Millisecond)
	set(&c.SleepAfter, 2*time.Second)
	set(&c.SleepEvery, 5*time.Second)
	set(&c.LateAfter, 2*time.Second)
	set(&c.HandOverFor, time.Second)
	size(&c.MaxEntry, 256<<10)
	size(&c.MaxUncommitted, 16<<20)
	size(&c.MaxReads, 4096)
	size(&c.LogEntries, 8192)
	size(&c.LogBytes, 16<<20)
	size(&c.StreamBytes, 256<<20)
	return c
}

// Validate names the first rule that c breaks.
func (c Config) Validate() error {
	d := c.withDefaults()
	switch {
	case c.Ledger == 0:
		return errors.New("ledger: the ledger has no name")
	case c.Opened == 0:
		return errors.New("ledger: the disk was never opened")
	case min(d.HeartbeatEvery, d.SilentAfter, d.Stagger, d.SleepAfter, d.LateAfter, d.HandOverFor) < 0:
		return errors.New("ledger: a duration is negative")
	case d.SilentAfter < 2*d.HeartbeatEvery:
		return fmt.Errorf("ledger: SilentAfter %v is less than two heartbeats of %v", d.SilentAfter, d.HeartbeatEvery)
	case d.SleepEvery < d.HeartbeatEvery:
		return fmt.Errorf("ledger: SleepEvery %v is less than HeartbeatEvery %v", d.SleepEvery, d.HeartbeatEvery)
	case min(d.MaxEntry, d.MaxUncommitted, d.MaxReads, d.LogEntries, d.LogBytes, d.StreamBytes) < 0:
		return errors.New("ledger: a bound is negative")
	case d.MaxUncommitted < d.MaxEntry:
		return fmt.Errorf("ledger: MaxUncommitted %d is less than MaxEntry %d", d.MaxUncommitted, d.MaxEntry)
	case d.MaxEntry > maxEntry:
		return fmt.Errorf("ledger: MaxEntry %d is more than %d, which replicas accept from each other", d.MaxEntry, maxEntry)
	case d.LogEntries < 4:
		return fmt.Errorf("ledger: LogEntries %d is less than 4", d.LogEntries)
	}
	return nil
}
