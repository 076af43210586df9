package replica

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// chaos is hosts on a network that loses, doubles and delays, and in views that they learn late.
type chaos struct {
	*rand.Rand
	now     time.Duration
	hosts   map[phalanx.NodeID]*host
	wire    []wired
	members []phalanx.NodeID // of the newest view
	view    uint64
	nodes   int
	changes int
	// answered has who knew of each change of a key when it was answered.
	answered map[string]map[string][]phalanx.NodeID
	problem  string
}

func (c *chaos) add() {
	id := phalanx.NodeID(fmt.Sprint("n", c.nodes))
	c.nodes++
	h := newHost(id, 1+c.IntN(6))
	h.send = func(from, to phalanx.NodeID, m message) { c.wire = append(c.wire, wired{from, to, m}) }
	h.answer = c.answers
	c.hosts[id] = h
	c.members = append(slices.Clone(c.members), id)
}

// change makes a view in which one member is another, or one more or less. A member that is gone
// has no lease, and does not come back.
func (c *chaos) change() {
	if len(c.members) > managers && c.IntN(2) == 0 {
		gone := c.IntN(len(c.members))
		c.hosts[c.members[gone]].leased = false
		c.members = slices.Delete(slices.Clone(c.members), gone, gone+1)
	} else {
		c.add()
		last := len(c.members) - 1
		at := c.IntN(len(c.members))
		c.members[at], c.members[last] = c.members[last], c.members[at] // the new one may be the primary
	}
	c.view++
}

func (c *chaos) learn(id phalanx.NodeID) {
	if h := c.hosts[id]; h.view < c.view {
		h.now = c.now
		h.learn(c.view, c.members)
	}
}

// answers checks guarantee 1: the primary has all that was answered before, but for that of which
// all who knew it have left.
func (c *chaos) answers(by phalanx.NodeID, key string, changes []string, e *entry) {
	for change, knew := range c.answered[key] {
		lives := slices.ContainsFunc(knew, func(n phalanx.NodeID) bool { return slices.Contains(c.members, n) })
		if lives && !strings.Contains(string(e.state), change) {
			c.problem = fmt.Sprintf("%s answers %s %s without %s, which %v knew", by, key, e.Version, change, knew)
		}
	}
	if c.answered[key] == nil {
		c.answered[key] = map[string][]phalanx.NodeID{}
	}
	for _, change := range changes {
		if change != "" {
			c.answered[key][change] = append([]phalanx.NodeID{by}, c.hosts[by].backups()...)
		}
	}
}

func (c *chaos) step() {
	switch r := c.IntN(100); {
	case r < 60 && len(c.wire) > 0:
		i := c.IntN(min(len(c.wire), 4))
		f := c.wire[i]
		switch lot := c.IntN(20); {
		case lot == 0: // it stays, and comes again
		case lot < 3:
			c.wire = slices.Delete(c.wire, i, i+1)
			return
		default:
			c.wire = slices.Delete(c.wire, i, i+1)
		}
		if h := c.hosts[f.to]; h.members != nil {
			h.now = c.now
			h.heard(f.from, f.m)
		}
	case r < 75:
		c.changes++
		if h := c.hosts[c.members[c.IntN(len(c.members))]]; h.members != nil {
			h.now = c.now
			h.change([]string{"x", "y"}[c.IntN(2)], fmt.Sprintf("<%d>", c.changes))
		}
	case r < 90:
		c.now += time.Duration(c.IntN(100)) * time.Millisecond
		for _, id := range slices.Sorted(maps.Keys(c.hosts)) {
			if h := c.hosts[id]; h.members != nil {
				h.tick(c.now)
			}
		}
	case r < 98:
		c.learn(c.members[c.IntN(len(c.members))])
	case r < 99:
		c.change()
	}
}

// A primary keeps what it has answered, whatever is lost, doubled or late, and whichever views hosts
// miss. It answers all when faults end.
func TestWhatIsAnsweredStays(t *testing.T) {
	seeds := uint64(2000)
	if testing.Short() {
		seeds = 300
	}
	answered, views := 0, uint64(0)
	for seed := range seeds {
		c := &chaos{Rand: rand.New(rand.NewPCG(seed, 1)), hosts: map[phalanx.NodeID]*host{}, view: 1, answered: map[string]map[string][]phalanx.NodeID{}}
		for range 4 {
			c.add()
		}
		for range 600 {
			if c.step(); c.problem != "" {
				t.Fatalf("seed %d: %s", seed, c.problem)
			}
		}
		c.calm(t, seed)
		for _, of := range c.answered {
			answered += len(of)
		}
		views += c.view
	}
	if answered < int(seeds) || views < 2*seeds {
		t.Errorf("%d changes were answered in %d views: too few", answered, views)
	}
}

// calm ends faults. A change is answered then, and all managers have the same state.
func (c *chaos) calm(t *testing.T, seed uint64) {
	t.Helper()
	for _, id := range c.members {
		c.learn(id)
	}
	primary := c.hosts[c.members[0]]
	for _, key := range []string{"x", "y"} {
		c.changes++
		last := fmt.Sprintf("<%d>", c.changes)
		began := c.now
		for ; c.answered[key][last] == nil && c.now < began+10*time.Second; c.now += 10 * time.Millisecond {
			if (c.now-began)%(2*time.Second) == 0 { // a term that begins forgets what was asked for
				primary.change(key, last)
			}
			for ; len(c.wire) > 0; c.wire = c.wire[1:] {
				h := c.hosts[c.wire[0].to]
				h.now = c.now
				if h.members != nil {
					h.heard(c.wire[0].from, c.wire[0].m)
				}
			}
			primary.tick(c.now)
		}
		if c.problem != "" || c.answered[key][last] == nil {
			t.Fatalf("seed %d: %s is not answered; %s", seed, last, c.problem)
		}
		for _, n := range primary.backups() {
			if e := c.hosts[n].entries[key]; e == nil || e.Version != primary.entries[key].Version || string(e.state) != string(primary.entries[key].state) {
				t.Fatalf("seed %d: %s has %+v, the primary %+v", seed, n, e, primary.entries[key])
			}
		}
	}
}
