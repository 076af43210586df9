package detect_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/detect"
)

// TestRandom gives a core any events in any order. Whoever it proposes to remove
// is a member with enough witnesses, whoever answers is not suspected, and the
// same events have the same effects.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := []phalanx.NodeID{"a", "b", "c", "d", "e", "f"}
		core, again := detect.New(detect.Config{Self: "a"}), detect.New(detect.Config{Self: "a"})
		var members []phalanx.NodeID
		now := time.Duration(0)
		some := func(from []phalanx.NodeID, label string) []phalanx.NodeID {
			if len(from) == 0 {
				return nil
			}
			return rapid.SliceOfNDistinct(rapid.SampledFrom(from), 0, len(from), rapid.ID[phalanx.NodeID]).Draw(t, label)
		}
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			now += time.Duration(rapid.IntRange(0, 300).Draw(t, "ms")) * time.Millisecond
			node := rapid.SampledFrom(names).Draw(t, "node")
			var ev detect.Event
			switch rapid.IntRange(0, 7).Draw(t, "what") {
			case 0:
				members = some(names, "members")
				ev = detect.Changed{Members: members, Voters: some(members, "voters"), Now: now}
			case 1, 2:
				ev = detect.Tick{Streams: some(names, "streams"), Now: now}
			case 3:
				ev = detect.Echoed{Node: node, Now: now}
			case 4:
				ev = detect.Broken{Node: node, Now: now}
			case 5:
				ev = detect.Refuses{Node: node, Now: now}
			case 6:
				by := rapid.SampledFrom(names).Draw(t, "by")
				ev = detect.Accused{By: by, Node: node, Cause: detect.Cause(rapid.IntRange(0, 3).Draw(t, "cause")), Now: now}
			case 7:
				ev = detect.Heard{Node: node, Now: now}
			}
			effects := core.Step(ev)
			if is, was := fmt.Sprint(again.Step(ev)), fmt.Sprint(effects); is != was {
				t.Fatalf("%v once, %v again", was, is)
			}
			for _, e := range effects {
				r, ok := e.(detect.Remove)
				if !ok {
					continue
				}
				if need := min(2, len(members)-1); !slices.Contains(members, r.Node) || r.Node == "a" || len(r.Witnesses) < need || slices.Contains(r.Witnesses, r.Node) {
					t.Fatalf("%v of members %v", r, members)
				}
			}
			if _, ok := ev.(detect.Echoed); ok && slices.Contains(core.Suspects(), node) {
				t.Fatalf("%s answers and is suspected", node)
			}
			for _, id := range core.Suspects() {
				if !slices.Contains(members, id) || id == "a" {
					t.Fatalf("%s is suspected among %v", id, members)
				}
			}
			if at, ok := core.Due(); at > now+time.Second || ok != (slices.Contains(members, "a") && len(members) > 1) {
				t.Fatalf("the next tick is due at %v (%v), at %v of members %v", at, ok, now, members)
			}
		}
	})
}
