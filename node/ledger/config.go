package ledger

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// Config is how a Core behaves. The zero value of a duration or a count means the default.
type Config struct {
	Name      string   // of the node, which survives its incarnations
	Address   string   // that other nodes dial
	Host      string   // the machine; disks of one host may fail together
	Addresses []string // of nodes to ask before there is a view: remembered ones, and seeds
	Seeds     []string // of these: nodes of the cluster that this one is told to join

	Disk       uint64 // the id of the folder; 0: the node has none
	Ledger     uint64 // to which the folder belongs; 0: none yet
	Opened     uint64 // how often the folder was opened
	Generation uint64 // of the ledger, the greatest that the folder has heard of
	Run        uint64 // a random number of this opening. A ledger that this node creates gets it as its id
	Temporary  bool   // the folder is gone with the process

	Copies      int           // disks that hold a replica, from as many disks on: 1, 3 or 5; 3
	AwayAfter   time.Duration // a disk that was not heard for so long is replaced; 10 min
	FreshFor    time.Duration // a disk that is to take a replica was heard within this time; 10 s
	HelloEvery  time.Duration // to the leader's node; 2 s
	HelloMost   time.Duration // while there is no news; 30 s, or a quarter of AwayAfter
	SeekEvery   time.Duration // while no leader answers; 500 ms
	CreateAfter time.Duration // members that have not answered by then are not waited for; 3 s

	Replica ledger.Config     // without Ledger, Opened and Run
	Boot    ledger.BootConfig // its durations
}

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	if c.Copies == 0 {
		c.Copies = 3
	}
	set(&c.AwayAfter, 10*time.Minute)
	set(&c.FreshFor, 10*time.Second)
	set(&c.HelloEvery, 2*time.Second)
	set(&c.HelloMost, max(c.HelloEvery, min(30*time.Second, c.AwayAfter/4)))
	set(&c.SeekEvery, 500*time.Millisecond)
	set(&c.CreateAfter, 3*time.Second)
	return c
}

// Validate names the first rule that c breaks.
func (c Config) Validate() error {
	d := c.withDefaults()
	switch {
	case c.Address == "":
		return errors.New("ledger: the node has no address")
	case len(c.Host) > MaxAddress || strings.ToValidUTF8(c.Host, "") != c.Host:
		return fmt.Errorf("ledger: the host's name has at most %d bytes of UTF-8, not %.100q", MaxAddress, c.Host)
	case c.Disk != 0 && (c.Disk >= 1<<48 || c.Opened == 0 || c.Run == 0):
		return errors.New("ledger: the disk's id, or the number of its opening, cannot be")
	case d.Copies != 1 && d.Copies != 3 && d.Copies != 5:
		return errors.New("ledger: Copies is not 1, 3 or 5")
	case min(d.AwayAfter, d.FreshFor, d.HelloEvery, d.SeekEvery, d.CreateAfter) < 0:
		return errors.New("ledger: a duration is negative")
	case d.HelloMost < d.HelloEvery:
		return fmt.Errorf("ledger: HelloMost %v is less than HelloEvery %v", d.HelloMost, d.HelloEvery)
	}
	return nil
}

// diskOf returns the disk of a replica. The lowest 16 bits of a replica's id are its number on the disk.
func diskOf(replica uint64) uint64 { return replica >> 16 }
