package reduce_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// TestPlace replays what one place is told, by the script's commands, and prints
// what it does. Its children are places 1 and 2.
func TestPlace(t *testing.T) {
	var p *reduce.Place
	datadriven.RunTest(t, "testdata/place.txt", func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd == "new" {
			p = reduce.NewPlace(reduce.PlaceConfig{})
			return "ok\n"
		}
		ev := placeEvent(t, d)
		var b strings.Builder
		for _, e := range p.Step(ev) {
			if r, ok := e.(reduce.Report); ok {
				fmt.Fprintf(&b, "Report %s\n", show(r.Event))
			} else {
				fmt.Fprintf(&b, "%s\n", show(e))
			}
		}
		if b.Len() == 0 {
			return "ok\n"
		}
		return b.String()
	})
}

// placeEvent reads an event. Labels are written attempt/seq.
func placeEvent(t *testing.T, d *datadriven.TestData) reduce.PlaceEvent {
	arg := func(key string) string {
		for _, a := range d.CmdArgs {
			if a.Key == key && len(a.Vals) > 0 {
				return a.Vals[0]
			}
		}
		return ""
	}
	flag := func(key string) bool {
		return slices.ContainsFunc(d.CmdArgs, func(a datadriven.CmdArg) bool { return a.Key == key && len(a.Vals) == 0 })
	}
	num := func(key string) (n uint64) {
		if s := arg(key); s != "" {
			if _, err := fmt.Sscan(s, &n); err != nil {
				t.Fatal(err)
			}
		}
		return n
	}
	label := func(key string) (g reduce.PlaceGen) {
		if s := arg(key); s != "" {
			if _, err := fmt.Sscanf(s, "%d/%d", &g.Attempt, &g.Seq); err != nil {
				t.Fatal(err)
			}
		}
		return g
	}
	first := phalanx.Generation{Epoch: 1, Seq: 1}
	switch d.Cmd {
	case "command":
		s := reduce.State{Target: "T", Reduce: first, Attempt: max(1, num("attempt")), Version: num("v"), Gen: label("gen"),
			Source: "R1", SourceGen: first, Op: phalanx.Sum, Meta: meta(64), Root: !flag("inner")}
		if src := arg("source"); src != "" {
			s.Source = phalanx.ObjectID(src)
		}
		if s.Root {
			s.TargetGen = phalanx.Generation{Epoch: 1, Seq: 1 + num("target")}
		} else {
			s.Parent = reduce.Peer{Place: 9, Node: "P", Gen: label("parent")}
		}
		if flag("ungranted") {
			s.TargetGen = phalanx.Generation{}
		}
		for i, key := range []string{"a", "b"} {
			c := reduce.Child{Order: 2 * i, Place: i + 1, Gen: label(key)}
			if !c.Gen.IsZero() {
				c.Node = phalanx.NodeID(strings.ToUpper(key))
			}
			if !flag("leaf") {
				s.Children = append(s.Children, c)
			}
		}
		ev := reduce.Commanded{State: s}
		if flag("unable") {
			ev.Unable, ev.Text = phalanx.ErrUnknownOp, "there is no op f here"
		}
		return ev
	case "stop":
		return reduce.Stopping{Attempt: max(1, num("attempt")), Gen: label("gen"), Final: flag("final"),
			TargetGen: phalanx.Generation{Epoch: 1, Seq: 1 + num("target")}}
	case "ask":
		return reduce.Asked{ParentGen: label("gen"), Child: int(num("child")), ChildGen: label("childgen")}
	case "inspect":
		return reduce.Inspecting{Attempt: num("attempt")}
	case "edge":
		return reduce.EdgeEnded{Child: int(num("child")), Gen: label("gen"), Stream: num("stream"),
			Complete: flag("complete"), Kept: flag("kept"), Text: arg("text")}
	case "drop":
		return reduce.EdgeDropped{Child: int(num("child")), Gen: label("gen")}
	case "done":
		return reduce.OutputDone{Gen: label("gen"), Size: 64}
	case "waits":
		return reduce.OutputWaits{Gen: label("gen"), Text: arg("text")}
	case "opfailed":
		return reduce.OpFailed{Gen: label("gen"), Source: phalanx.ObjectID(arg("source")), Kind: phalanx.ErrInvalid, Text: arg("text")}
	case "opruns":
		return reduce.OpRuns{Gen: label("gen"), Text: arg("text")}
	case "missing":
		return reduce.OutputMissing{Gen: label("gen")}
	case "moved":
		return reduce.SourceMoved{Gen: first}
	case "complete":
		return reduce.SourceComplete{Gen: first}
	case "failed":
		return reduce.SourceFailed{Gen: first, Text: arg("text")}
	case "tick":
		dur, err := time.ParseDuration(d.CmdArgs[0].Key)
		if err != nil {
			t.Fatal(err)
		}
		return reduce.PlaceTick{Now: dur}
	}
	d.Fatalf(t, "unknown command %s", d.Cmd)
	return nil
}
