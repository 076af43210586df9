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

// script drives a world by commands. Messages are delivered in the order in
// which they were sent, until none is left. It prints what the coordinator
// is told and what it answers.
type script struct {
	*world
	out     strings.Builder
	verbose bool // acknowledgements too
	places  bool // what places are told and answer, too
}

// TestScripts replays testdata/*.txt; run with -rewrite, then read the diff.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		s := &script{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.out.Reset()
			s.run(t, d)
			if s.out.Len() == 0 {
				return "ok\n"
			}
			return s.out.String()
		})
	})
}

func (s *script) record(what string, x any) {
	_, ack := x.(reduce.Acked)
	_, stopped := x.(reduce.Stopped)
	switch what {
	case "event":
		if !ack && !stopped || s.verbose {
			fmt.Fprintf(&s.out, "%s\n", show(x))
		}
	case "effect":
		fmt.Fprintf(&s.out, "  %s\n", show(x))
	case "place event":
		if s.places {
			fmt.Fprintf(&s.out, "    %s\n", show(x))
		}
	default:
		if s.places {
			fmt.Fprintf(&s.out, "      %s\n", show(x))
		}
	}
}

func show(x any) string {
	s := strings.TrimPrefix(fmt.Sprintf("%T%+v", x, x), "reduce.")
	switch x := x.(type) {
	case reduce.Fail:
		s = "Fail " + x.Err.Error()
	case reduce.Notify:
		s = "Notify " + x.String()
	case reduce.Command:
		s = fmt.Sprintf("Command %s %v", x.Node, x.State)
	}
	return strings.ReplaceAll(s, "00000000000000000000000000000000", "-")
}

func (s *script) run(t *testing.T, d *datadriven.TestData) {
	arg := func(key, def string) string {
		for _, a := range d.CmdArgs {
			if a.Key == key && len(a.Vals) > 0 {
				return a.Vals[0]
			}
		}
		return def
	}
	num := func(key string, def int) int {
		n := def
		if v := arg(key, ""); v != "" {
			if _, err := fmt.Sscan(v, &n); err != nil {
				t.Fatal(err)
			}
		}
		return n
	}
	flag := func(key string) bool {
		return slices.ContainsFunc(d.CmdArgs, func(a datadriven.CmdArg) bool { return a.Key == key && len(a.Vals) == 0 })
	}
	first := func() string { return d.CmdArgs[0].Key }
	obj := func() *object { return s.src[phalanx.ObjectID(first())] }
	nod := func() *node { return s.node(phalanx.NodeID(first())) }
	placeOf := func() reduce.PlaceInfo {
		for _, p := range s.c.Places() {
			if string(p.Source) == first() {
				return p
			}
		}
		t.Fatalf("%s has no place", first())
		return reduce.PlaceInfo{}
	}

	switch d.Cmd {
	case "new": // n sources R1… of value 2^(i-1), each to be put at N1…
		cfg := reduce.Config{Target: "T", Num: num("num", 1), Op: phalanx.Op(arg("op", "sum")), Node: "C", Attempt: 1,
			Degree: num("degree", 2), InlineLimit: int64(num("inline", 0)), Deadline: time.Duration(num("deadline", 0)) * time.Second}
		if cfg.Shared = flag("shared"); cfg.Shared {
			cfg.Degree, cfg.Latency, cfg.Bandwidth = 0, 100*time.Microsecond, 1e9
		}
		m := num("sources", 1)
		for i := range m {
			cfg.Sources = append(cfg.Sources, phalanx.ObjectID(fmt.Sprintf("R%d", i+1)))
		}
		if x := arg("extra", ""); x != "" {
			cfg.Sources = append(cfg.Sources, phalanx.ObjectID(x))
		}
		s.world = newWorld(t, cfg)
		s.log = s.record
		s.mute = flag("mute")
		s.rootGone = flag("rootgone")
		s.verbose, s.places = flag("acks"), flag("places")
		for i, id := range cfg.Sources[:m] {
			s.src[id] = &object{id: id, value: 1 << i, size: int64(num("size", 4096)), gen: phalanx.Generation{Epoch: 1, Seq: 1}}
		}
		return
	case "start":
		s.step(reduce.Start{})
	case "put": // R1 [node=] [partial [target]] [value=] [size=]: a source is put
		o := obj()
		o.holders = append(o.holders, phalanx.NodeID(arg("node", "N"+string(o.id[1:]))))
		o.whole, o.final, o.target = !flag("partial"), !flag("partial"), flag("target")
		o.value = int64(num("value", int(o.value)))
		o.size = int64(num("size", int(o.size)))
		if flag("quiet") {
			return
		}
		for _, r := range s.announcements(o)[len(o.holders)-1:] {
			s.step(r)
		}
	case "join": // N1 R1 R2: a node wants the target, and has these
		j := reduce.Joined{Node: nod().id}
		for _, a := range d.CmdArgs[1:] {
			for _, r := range s.announcements(s.src[phalanx.ObjectID(a.Key)]) {
				if r.Node == j.Node {
					j.Has = append(j.Has, r)
				}
			}
		}
		s.step(j)
	case "made": // the target is final here
		s.step(reduce.Made{Now: s.now, Gen: s.gen, Size: 8})
	case "again": // R1: the announcements of a source are repeated
		for _, r := range s.announcements(obj()) {
			s.step(r)
		}
	case "final": // R1: a partial source becomes final
		obj().whole, obj().final = true, true
		s.step(reduce.SourceFinal{Source: obj().id, Gen: obj().gen})
	case "whole": // R1: all bytes are there, but it is not final yet
		obj().whole = true
	case "reset": // R1 value=: a partial source starts over
		o := obj()
		o.gen.Seq++
		o.value, o.whole, o.final = int64(num("value", int(o.value))), false, false
		o.holders = nil
		s.step(reduce.SourceReset{Source: o.id, Gen: o.gen})
	case "gone": // R1 kind=aborted|deleted|lost [unheard]
		o := obj()
		o.gone = map[string]phalanx.Kind{"aborted": phalanx.ErrAborted, "deleted": phalanx.ErrDeleted, "lost": phalanx.ErrLost}[arg("kind", "")]
		o.holders, o.was, o.final = nil, o.gen, false
		o.gen.Seq++
		if !flag("unheard") {
			s.step(reduce.SourceGone{Source: o.id, Gen: o.was, Kind: o.gone})
		}
	case "kill": // N1: a node leaves the view
		s.kill(nod())
		s.step(reduce.NodeGone{Node: nod().id, Down: true})
	case "leaving": // N1 …: these are about to leave
		var nodes []phalanx.NodeID
		for _, a := range d.CmdArgs {
			nodes = append(nodes, phalanx.NodeID(a.Key))
		}
		s.step(reduce.Leaving{Nodes: nodes})
	case "suspect":
		s.step(reduce.NodeGone{Node: nod().id})
	case "panic": // R1 [unheard]: the actor of its place ends
		p := placeOf()
		delete(s.node(p.Node).places, p.Place)
		if flag("unheard") { // its end is told once, and that is lost
			break
		}
		s.step(reduce.PlaceLost{Place: p.Place, Gen: p.Gen, Reason: reduce.LostPanic, Text: "boom"})
	case "lost": // R1 [gen=a/s] [edge]: only the report
		p := placeOf()
		g := p.Gen
		if v := arg("gen", ""); v != "" {
			if _, err := fmt.Sscanf(v, "%d/%d", &g.Attempt, &g.Seq); err != nil {
				t.Fatal(err)
			}
		}
		why := reduce.LostPanic
		if flag("edge") {
			why = reduce.LostEdge
		}
		s.step(reduce.PlaceLost{Place: p.Place, Gen: g, Reason: why})
	case "drop": // R1: memory is needed, its parent keeps its stream no more
		p := placeOf()
		for _, r := range s.runs() {
			if r.pos == p.Parent {
				delete(r.kept, p.Gen)
				s.place(r, reduce.EdgeDropped{Child: p.Place, Gen: p.Gen})
			}
		}
	case "waits": // R1 text=: its place has no memory for its output
		p := placeOf()
		s.step(reduce.Waiting{Place: p.Place, Gen: p.Gen, Text: arg("text", "")})
	case "combines": // R1 text=: the op that its place has called does not return
		p := placeOf()
		s.step(reduce.Combining{Place: p.Place, Gen: p.Gen, Text: arg("text", "")})
	case "opfails": // R1 [of=] [old]: the op has failed at its place, on what comes from another source
		p := placeOf()
		if flag("old") {
			p.Gen.Seq--
		}
		s.step(reduce.CombineFailed{Place: p.Place, Gen: p.Gen, Source: phalanx.ObjectID(arg("of", "")), Kind: phalanx.ErrInvalid, Text: arg("text", "")})
	case "keep": // on|off
		on := first() == "on"
		s.keep = func() bool { return on }
	case "hold", "release": // N1: messages to it wait
		s.hold[nod().id] = d.Cmd == "hold"
	case "tick": // duration
		dur, err := time.ParseDuration(first())
		if err != nil {
			t.Fatal(err)
		}
		s.now += dur
		s.step(reduce.Tick{Now: s.now})
		for _, r := range s.runs() {
			s.place(r, reduce.PlaceTick{Now: s.now})
		}
	case "cancel":
		s.step(reduce.Cancel{})
	case "resume": // a new coordinator takes the place of the old
		s.resume()
	case "begun", "attached", "rejected", "targetgone", "unable", "refuse", "rootdone", "old":
		s.raw(t, d.Cmd, arg, placeOf)
	case "values":
		s.out.WriteString(s.world.values())
		return
	default:
		d.Fatalf(t, "unknown command %s", d.Cmd)
	}
	s.stream()
	s.pump()
	fmt.Fprintf(&s.out, "%s", s.sums())
}

// raw is an event that the world would not produce by itself.
func (s *script) raw(t *testing.T, cmd string, arg func(string, string) string, placeOf func() reduce.PlaceInfo) {
	switch cmd {
	case "attached":
		ev := reduce.Attached{Gen: s.gen, Coordinator: "D", Final: arg("final", "") != "", In: s.cfg.Sources[:1], Size: 8}
		if arg("forgotten", "") != "" {
			ev.In = nil
		}
		s.step(ev)
	case "rejected": // [released=yes] [deleted=yes]
		switch older := (phalanx.Generation{Seq: 9}); { // than s.gen, of epoch 1
		case arg("released", "") != "":
			s.step(reduce.Rejected{Kind: phalanx.ErrDeleted, Text: "the object was deleted", Gen: s.gen, Deleted: older})
		case arg("deleted", "") != "":
			s.step(reduce.Rejected{Kind: phalanx.ErrDeleted, Text: "the object was deleted", Gen: s.gen, Deleted: s.gen})
		default:
			s.step(reduce.Rejected{Kind: phalanx.ErrExists, Text: "another reduce makes it"})
		}
	case "targetgone":
		s.step(reduce.TargetGone{Kind: phalanx.ErrDeleted, Text: "the object was deleted"})
	case "begun":
		s.step(reduce.Begun{Gen: s.gen})
	case "refuse": // R1 kind=op|space|gone|attempt
		p := placeOf()
		kind := map[string]phalanx.Kind{"op": phalanx.ErrUnknownOp, "gone": phalanx.ErrNotFound, "attempt": phalanx.ErrRefused}[arg("kind", "")]
		s.step(reduce.Refused{Place: p.Place, Node: p.Node, Attempt: 1, Version: s.version(p), Kind: kind, Text: "no"})
	case "old": // an acknowledgement from where the place does not run (any more)
		s.step(reduce.Acked{Place: 0, Node: phalanx.NodeID(arg("node", "")), Attempt: 1, Version: 1})
	case "rootdone": // of a root that is not any more
		s.step(reduce.RootDone{Place: 0, Gen: reduce.PlaceGen{Attempt: 1, Seq: 1}, TargetGen: s.gen, Size: 4096})
	default:
		t.Fatal(cmd)
	}
}

func (s *script) version(p reduce.PlaceInfo) uint64 {
	return s.node(p.Node).places[p.Place].core.State().Version
}

// sums says on one line what the places have, as figure 5 does.
func (s *script) sums() string {
	var parts []string
	for _, p := range s.c.Places() {
		if r := s.node(p.Node).places[p.Place]; p.State == "live" && r != nil && r.core.Runs() {
			v, all := s.partial(r)
			mark := ""
			if !all {
				mark = "…"
			}
			parts = append(parts, fmt.Sprintf("%s=%d%s", p.Source, v.sum, mark))
		}
	}
	if parts == nil {
		return ""
	}
	return "has: " + strings.Join(parts, " ") + "\n"
}
