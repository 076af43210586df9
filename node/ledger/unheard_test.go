package ledger

import (
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx"
)

// A process that has begun at the address of a replica has to say which ledger it has, unless it is the one that has the replica: its folder may be
// another one.
func TestTheNextProcessAtAnAddressIsNoReplica(t *testing.T) {
	const replica = 5<<16 | 1
	for what, test := range map[string]struct {
		said string // the process that has said Hello last
		asks bool
	}{
		"the replica's process":    {"b#2", false},
		"another one":              {"b#1", true},
		"nobody knows the process": {"", false},
	} {
		c, err := New(Config{Name: "n", Address: "n:1", Disk: 9, Ledger: 7, Opened: 1, Run: 1})
		if err != nil {
			t.Fatal(err)
		}
		self := Member{Node: "n#1", Address: "n:1", Keeps: true, Folder: true}
		c.view = Viewed{Self: "n#1", Number: 1, Members: []Member{{Node: "b#2", Address: "b:1", Keeps: true, Folder: true}, self}}
		c.group.Voters = []uint64{9<<16 | 1, replica}
		c.book.put(replica, "b:1")
		if test.said != "" {
			c.note(Hello{Address: "b:1", Node: phalanx.NodeID(test.said), Ledger: 7, Disk: 5, Replica: replica, Opened: 1, Run: 2})
		}
		c.beginTenure()
		c.group.Voters = []uint64{9<<16 | 1, replica}
		if asks := slices.Contains(c.unheard(), "b:1"); asks != test.asks {
			t.Errorf("%s: it is asked: %v", what, asks)
		}
	}
}
