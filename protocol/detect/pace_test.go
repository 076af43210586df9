package detect

import (
	"fmt"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

const ms = time.Millisecond

// A connection that takes long to be made is one slow round trip. After five quiet minutes it
// is forgotten on both sides: silence is a suspicion after 500 ms, whoever sends the heartbeats.
func TestSilenceIsASuspicionAfter500ms(t *testing.T) {
	members := []phalanx.NodeID{"a", "b", "c"} // a sends heartbeats to b, and b to c
	for _, silent := range []phalanx.NodeID{"a", "c"} {
		c := New(Config{Self: "b"})
		now := time.Second
		c.Step(Changed{Members: members, Voters: members, Now: now})
		c.Step(Tick{Now: now})
		now += 100 * ms
		c.Step(Echoed{Node: "a", Now: now})
		c.Step(Echoed{Node: "c", Now: now})
		if late := c.Late(); late != busyFactor*100*ms {
			t.Fatalf("after a round trip of 100 ms a silent member is suspected %v later", late)
		}
		tick := func(answers ...phalanx.NodeID) {
			for _, e := range c.Step(Tick{Now: now}) {
				for _, id := range answers {
					if e == (Beat{Node: id}) {
						c.Step(Echoed{Node: id, Now: now})
					}
				}
			}
		}
		for range 1200 {
			now += 250 * ms
			c.Step(Heard{Node: "a", Now: now})
			tick("a", "c")
		}
		last := now
		for len(c.Suspects()) == 0 && now-last < 10*time.Second {
			now, _ = c.Due()
			if silent == "a" {
				tick("c")
			} else {
				c.Step(Heard{Node: "a", Now: now})
				tick("a")
			}
		}
		if took := now - last; len(c.Suspects()) != 1 || c.Suspects()[0] != silent || took < 500*ms || took > 505*ms {
			t.Errorf("%s is silent, and after %v the suspects are %v", silent, took, c.Suspects())
		}
	}
}

// Of any two members one sends the heartbeats, and the other one sends them back.
func TestOneOfTwoSendsTheHeartbeats(t *testing.T) {
	var members []phalanx.NodeID
	for n := 2; n <= 12; n++ {
		cores := map[phalanx.NodeID]*Core{}
		members = members[:0]
		for i := range n {
			members = append(members, phalanx.NodeID(fmt.Sprintf("n%02d", i)))
		}
		for _, id := range members {
			cores[id] = New(Config{Self: id})
			cores[id].Step(Changed{Members: members, Voters: members, Now: 1})
		}
		for _, a := range members {
			for _, b := range members {
				if a != b && cores[a].begins(b) == cores[b].begins(a) {
					t.Errorf("of %d members %s sends %s heartbeats: %v, and so does %s", n, a, b, cores[a].begins(b), b)
				}
			}
		}
	}
}
