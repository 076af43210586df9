package view

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/phalanx-go/phalanx"
)

// TestScripts runs testdata/*.txt. Every command prints all effects that it had
// on any node, but for those that only keep time: raft's messages, pushes,
// heartbeats, missing replies and leases, which "trace=all" shows too.
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are no scripts: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) { runScript(t, path) })
	}
}

func runScript(t *testing.T, path string) {
	w := newNetwork(Config{Shards: 4})
	log := &trace{keep: decisive}
	w.onStep = func(n *node, _ Event, out []Effect) { log.note(w.now, n.id, out) }
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		log.keep = decisive
		if d.HasArg("all") {
			log.keep = func(Effect) bool { return true }
		}
		extra := script(t, w, d)
		if out := log.take() + extra; out != "" {
			return out
		}
		return "ok\n"
	})
}

func decisive(e Effect) bool {
	switch e.(type) {
	case Send, Push, SendBeat, Unanswered, SendReply, SendHalt, SendHalted, Lease:
		return false
	}
	return true
}

func script(t *testing.T, w *network, d *datadriven.TestData) string {
	arg := func(i int) phalanx.NodeID { return phalanx.NodeID(d.CmdArgs[i].Key) }
	num := func(i int) uint64 {
		n, err := strconv.ParseUint(d.CmdArgs[i].Key, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	span := func() time.Duration {
		span, err := time.ParseDuration(d.CmdArgs[0].Key)
		if err != nil {
			t.Fatal(err)
		}
		return span
	}
	switch d.Cmd {
	case "boot":
		w.boot(arg(0))
	case "join":
		w.join(arg(0), arg(1))
	case "run":
		w.run(span())
	case "delay": // of every message from now on
		w.delay = span()
	case "add": // add NODE MEMBER: NODE asks to let MEMBER in
		w.propose(arg(0), AddMember{Member: Member{ID: arg(1)}})
	case "remove":
		w.propose(arg(0), RemoveMember{Node: arg(1), Dead: d.HasArg("dead")})
	case "leave":
		w.propose(arg(0), Leaving{Node: arg(0)})
	case "drop": // drop NODE SHARD EPOCH WHOM
		w.propose(arg(0), Drop{Shard: int(num(1)), Epoch: num(2), Node: arg(3)})
	case "insync": // insync NODE SHARD EPOCH
		w.propose(arg(0), InSync{Shards: []Synced{{Shard: int(num(1)), Epoch: num(2), Node: arg(0)}}})
	case "sync": // every Next catches up from now on
		w.sync = true
		for _, n := range w.live() {
			w.caughtUp(n, n.View())
		}
	case "nosync":
		w.sync = false
	case "kill":
		w.node(arg(0)).dead = true
	case "broken": // broken NODE PEER: NODE's stream to PEER broke
		w.broken(arg(0), arg(1))
	case "cut", "mend": // cut NODE PEER...
		for i := range d.CmdArgs[1:] {
			w.cut[[2]phalanx.NodeID{arg(0), arg(1 + i)}] = d.Cmd == "cut"
			w.cut[[2]phalanx.NodeID{arg(1 + i), arg(0)}] = d.Cmd == "cut"
		}
	case "suspects": // suspects NODE PEER...: NODE suspects these from now on
		n := w.node(arg(0))
		n.suspects = nil
		for i := range d.CmdArgs[1:] {
			n.suspects = append(n.suspects, arg(1+i))
		}
	case "recover": // recover NODE [force]
		w.step(w.node(arg(0)), func(now time.Duration) Event { return Recover{Force: d.HasArg("force"), Now: now} })
	case "hang":
		w.node(arg(0)).hung = true
	case "resume":
		w.resume(w.node(arg(0)))
	case "garbage": // garbage NODE FROM: the input arrives as a raft message
		w.step(w.node(arg(0)), func(now time.Duration) Event {
			return Receive{From: arg(1), Data: []byte(d.Input), Now: now}
		})
	case "idle":
		return fmt.Sprintln(w.newest().Idle(arg(0)))
	case "show":
		var b strings.Builder
		for _, n := range w.nodes {
			state := ""
			if n.dead {
				state = " dead"
			} else if n.fenced {
				state = " fenced"
			} else if n.lease > w.now {
				state = fmt.Sprintf(" lease for %v", n.lease-w.now)
			}
			fmt.Fprintf(&b, "%s: view %s, leader %s%s\n", n.id, Numbered(n.View().Number), name(n.Leader()), state)
		}
		v := w.newest()
		for i, s := range v.Shards {
			first, second := wanted(v.Members, i)
			fmt.Fprintf(&b, "shard %d wants %s %s has %v\n", i, first, second, s)
		}
		return b.String()
	default:
		t.Fatalf("%s: there is no command %q", d.Pos, d.Cmd)
	}
	return ""
}
