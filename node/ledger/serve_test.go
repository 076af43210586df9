package ledger_test

import (
	"slices"
	"testing"
	"time"

	node "github.com/phalanx-go/phalanx/node/ledger"
)

// A node that joins with a folder lets the controller of its ledger begin once each member with a folder that joined before it has said
// that it has the same ledger, and not at all if one has another. A member that says nothing holds that up for a while.
func TestControllerWaitsForThoseThatJoinedBefore(t *testing.T) {
	before := node.Member{Node: "a#1", Address: "a:1", Keeps: true, Folder: true}
	self := node.Member{Node: "n#1", Address: "n:1", Keeps: true, Folder: true}
	hello := node.Hello{Address: "a:1", Node: "a#1", View: 2, Ledger: 7, Disk: 9, Replica: 9<<16 | 1, Opened: 1, Run: 5}
	other := hello
	other.Ledger = 8
	earlier := hello
	earlier.Node = "a#0"
	for what, test := range map[string]struct {
		members []node.Member
		heard   []node.Hello
		serves  time.Duration // after the view; <0: never
	}{
		"it is alone":                         {[]node.Member{self}, nil, 0},
		"it joined first":                     {[]node.Member{self, before}, nil, 0},
		"who joined before has no folder":     {[]node.Member{{Node: "a#1", Address: "a:1", Keeps: true}, self}, nil, 0},
		"who joined before has the ledger":    {[]node.Member{before, self}, []node.Hello{hello}, 100 * time.Millisecond},
		"who joined before has another":       {[]node.Member{before, self}, []node.Hello{other}, -1},
		"who joined before does not answer":   {[]node.Member{before, self}, nil, 5 * time.Second},
		"a process before it had the ledger":  {[]node.Member{before, self}, []node.Hello{earlier}, 5 * time.Second},
		"who joined before is a stranger too": {[]node.Member{{Node: "b#1", Address: "b:1", Keeps: true, Folder: true}, before, self}, []node.Hello{hello, other}, -1},
	} {
		serves, asked := false, []string{}
		_, now, step := resumed(t, func(e node.Effect) {
			switch e := e.(type) {
			case node.Serves:
				serves = true
			case node.Say:
				if e.Hello.Asks {
					asked = append(asked, e.To)
				}
			}
		})
		for range 20 {
			*now += 100 * time.Millisecond
			step(node.Tick{})
		}
		if serves {
			t.Errorf("%s: the controller begins in no view", what)
		}
		asked = nil
		began := *now
		step(node.Viewed{Self: "n#1", Number: 2, Members: test.members})
		for i := 0; !serves && i < 100; i++ {
			*now += 100 * time.Millisecond
			if i < len(test.heard) {
				step(node.Heard{Hello: test.heard[i]})
			}
			step(node.Tick{})
		}
		took := *now - began
		if serves != (test.serves >= 0) || serves && (took < test.serves || took > test.serves+100*time.Millisecond) {
			t.Errorf("%s: the controller begins: %v, after %v", what, serves, took)
		}
		if test.serves > 0 && !slices.Contains(asked, "a:1") {
			t.Errorf("%s: it was not asked", what)
		}
	}
}
