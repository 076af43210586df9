package ledger_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	node "github.com/phalanx-go/phalanx/node/ledger"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// Nodes with temporary folders come and go, each time with another disk: a disk that comes after more of them than are remembered is found.
func TestTemporaryDisksAreForgotten(t *testing.T) {
	c, now := leading(t, 0)
	for i := range 1500 {
		now += 10 * time.Millisecond
		h := disk(i)
		h.Temporary = true
		c.Step(now, node.Heard{Hello: h})
	}
	v := node.Viewed{Self: "n#1", Number: 2, Members: []node.Member{{Node: "n#1", Address: "n:1", Keeps: true}}}
	for i := 1500; i < 1502; i++ {
		h := disk(i)
		v.Members = append(v.Members, node.Member{Node: h.Node, Address: h.Address, Keeps: true})
	}
	c.Step(now, v)
	for i := 1500; i < 1502; i++ {
		c.Step(now, node.Heard{Hello: disk(i)})
	}
	wanted := 0
	for _, e := range c.Step(now+time.Second, node.Heard{Hello: node.Hello{Asks: true, Address: "o:1500", Ledger: 7}}) {
		if s, is := e.(node.Say); is {
			wanted = max(wanted, len(s.Hello.Wanted))
		}
	}
	if wanted != 3 {
		t.Errorf("%d disks are wanted, with three there: %s", wanted, c)
	}
}

// An empty folder hears of another ledger before it belongs to one. Nothing of that counts later, though its leader has a
// greater term.
func TestEmptyFolderBelievesNoStranger(t *testing.T) {
	c, err := node.New(node.Config{Name: "a", Address: "a:1", Host: "h", Disk: 1, Opened: 1, Run: 3})
	if err != nil {
		t.Fatal(err)
	}
	var leads node.Lead
	adopted := uint64(0)
	step := func(ev node.Event) {
		for _, e := range c.Step(0, ev) {
			switch e := e.(type) {
			case node.Leads:
				leads = e.Lead
			case node.Adopt:
				adopted = e.Ledger
			}
		}
	}
	stranger := node.Hello{Address: "x:1", Ledger: 9, Disk: 5, Replica: 5<<16 | 1, Opened: 1, Run: 1, Lead: node.Lead{Term: 1000, Replica: 5<<16 | 1, Address: "x:1"}}
	step(node.Heard{Hello: stranger})
	step(node.Viewed{Self: "a#1", Number: 1, Members: []node.Member{{Node: "b#1", Address: "b:1", Keeps: true}, {Node: "a#1", Address: "a:1", Keeps: true}}})
	step(node.Heard{Hello: stranger})
	own := node.Hello{Address: "b:1", Node: "b#1", View: 1, Ledger: 7, Disk: 2, Replica: 2<<16 | 1, Opened: 1, Run: 1, Lead: node.Lead{Term: 5, Replica: 2<<16 | 1, Address: "b:1"}}
	step(node.Heard{Hello: own})
	if adopted != 7 {
		t.Fatalf("it adopts the ledger %d", adopted)
	}
	step(node.Heard{Hello: stranger}) // while the host binds the folder
	step(node.Opened{Ledger: 7, State: ledger.State{Replica: 1<<16 | 1}})
	step(node.Heard{Hello: own})
	if leads != own.Lead {
		t.Errorf("the leader is %+v, want %+v", leads, own.Lead)
	}
}

// An append of who begins the cluster that fails is repeated after a pause: it may fail at once, again and again.
func TestRecordThatFailsIsRepeatedAfterAPause(t *testing.T) {
	c, now := leading(t, 0)
	records := 0
	var step func(ev node.Event)
	step = func(ev node.Event) {
		for _, e := range c.Step(now, ev) {
			if r, is := e.(node.Record); is {
				if records++; records > 1000 {
					t.Fatal("it appends the record again and again")
				}
				step(node.Recorded{Epoch: r.Epoch, Record: r.Record, Failed: true})
			}
		}
	}
	for range 15_000 { // it has no lease
		now += time.Millisecond
		if at, _ := c.Due(); at <= now {
			step(node.Tick{})
		}
	}
	if records < 5 || records > 20 {
		t.Errorf("it has appended the record %d times within 15 s", records)
	}
}

// A host's name that no other node would accept is refused.
func TestHostNames(t *testing.T) {
	for name, good := range map[string]bool{"": true, "h": true, strings.Repeat("x", node.MaxAddress): true, strings.Repeat("x", node.MaxAddress+1): false, "\xff": false} {
		if err := (node.Config{Address: "a:1", Host: name}).Validate(); (err == nil) != good {
			t.Errorf("%.20q: %v", name, err)
		}
	}
}

// A step of the leader's node does not look at all disks that it knows.
func TestStepDoesNotLookAtAllDisks(t *testing.T) {
	allocated := func(disks int) float64 {
		c, now := leading(t, disks)
		return testing.AllocsPerRun(1000, func() { now += time.Microsecond; c.Step(now, node.Tick{}) })
	}
	if few, many := allocated(2), allocated(200); many > few+1 {
		t.Error(fmt.Sprint("a step allocates ", few, " times with two other disks, and ", many, " times with 200"))
	}
}
