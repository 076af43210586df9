package view

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// A leader gives a shard away once the lease of its owner has ended: the one that it gave itself,
// and the one that the leader before may have given. Who owns nothing is not waited for.
func TestLeasesOfTheLeaderBefore(t *testing.T) {
	c := &Core{cfg: Config{LeaseFor: time.Second}, voter: &voter{state: state{View: View{Shards: []Shard{{Owner: "b", Backup: "c"}}}}},
		lead: &leading{since: 10 * time.Second, leases: map[phalanx.NodeID]time.Duration{}}}
	for _, s := range []struct {
		now, lease time.Duration
		owner      bool
	}{
		{10 * time.Second, 0, false},
		{11*time.Second - 1, 0, false},
		{11 * time.Second, 0, true},
		{11 * time.Second, 12 * time.Second, false},
		{12 * time.Second, 12 * time.Second, true},
	} {
		c.now, c.lead.leases["b"] = s.now, s.lease
		if owner, backup := c.leaseEnded("b"), c.leaseEnded("c"); owner != s.owner || !backup {
			t.Errorf("at %v, with a lease until %v: the owner's has ended: %v, the backup's: %v", s.now, s.lease, owner, backup)
		}
	}
}
