package sim

import (
	"errors"
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/member"
	"github.com/phalanx-go/phalanx/protocol/join"
	"github.com/phalanx-go/phalanx/protocol/leave"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// Nodes join as in package membership. The seeds of a node are all other machines, so that none is its own
// seed, and none begins a second cluster. A seed that does not run yet refuses connections.

const (
	joinWithin = 30 * time.Second // a process that starts has so much time to join
	askFor     = 2 * time.Second  // a seed has so much time to answer
)

var (
	errSilent  = errors.New("the seed is silent")
	errRefused = errors.New("the seed's machine refuses the connection")
)

// joining is a node's part in joining.
type joining struct {
	core    *join.Core
	known   []string             // members when the process was a member; nil: it was none
	answers map[string]joinReply // the last of each seed
	viewed  bool                 // the core does not know the view yet
	ready   bool                 // the node may serve

	restarts uint64        // of a cluster that it begins
	awaits   time.Duration // until then others may enter that; 0: it has begun none
}

func newJoining(n *node, known []string) joining {
	p := n.process
	way := member.Way{Known: known, Again: known != nil}
	if len(n.w.nodes) > 0 { // the very first node begins the cluster
		way.Seeds = n.w.seeds(n.host)
	}
	if known == nil {
		way = member.FirstWay(n.host.name, way.Seeds, p.known, p.resumes)
	}
	way = p.ways.Take(way)
	p.ways.Begin(way)
	c := join.Config{Self: n.id, Seeds: way.Seeds, Members: way.Known, AskFor: askFor, Again: way.JoinsOnly(n.host.name)}
	if known != nil && way.Again { // it may have been the only member that it knew
		c.Again = true
	}
	return joining{core: join.New(c), known: known, answers: map[string]joinReply{}, restarts: way.Restarts}
}

// seeds returns the seeds of the node on a machine.
func (w *world) seeds(h *host) (all []string) {
	for i := range max(2, w.shape.nodes+w.shape.joins) {
		if name := hostName(i); name != h.name {
			all = append(all, name)
		}
	}
	return all
}

// deadline returns when a node that is not ready gives up, by its clock.
func (j *joining) deadline() time.Duration {
	if j.known != nil {
		return join.EnterFor
	}
	return joinWithin
}

// joins gives the core that joins an event, and carries out its effects.
func (n *node) joins(ev join.Event) {
	for _, e := range n.joining.core.Step(n.clock(), ev) {
		switch e := e.(type) {
		case join.Ask:
			n.inquire(e)
		case join.Boot:
			n.stepView(view.Boot{Restarts: n.joining.restarts, Now: n.clock()})
		case join.Enter:
			v := n.joining.answers[e.Seed].view
			n.stepView(view.Learn{From: n.joining.answers[e.Seed].says.From, View: v, Now: n.clock()})
			old, _ := v.Namesake(n.id) // that life is over: a name has one life at a time
			n.stepView(view.Propose{Command: view.AddMember{Member: n.asMember(), Replaces: old.ID}, Now: n.clock()})
		case join.Ready:
			n.joining.ready = true
			n.process.ways.End()
			if n.joining.restarts > 0 && len(n.joining.known) > 0 {
				n.joining.awaits = n.clock() + leave.AwaitFor
			}
			n.process.leavesAgain(n)
			if !n.view.Has(n.id) {
				n.w.fail("%s is ready, and is no member of %v", n.id, n.view)
			}
		case join.Met:
			if !n.w.durable { // else the one of an earlier number ends
				n.w.fail("%s has met the cluster of %s at %s", n.id, e.Cluster, e.At)
			}
			n.w.met["another cluster met"]++
		case join.Abandon:
			if n.joining.ready {
				n.w.fail("%s is ready, and abandons its cluster", n.id)
			}
			n.joinAgain()
		}
		if n.over {
			return
		}
	}
}

// tickJoin asks seeds when that is due. A node that is not ready in time tries again as a new incarnation.
func (n *node) tickJoin() {
	j := &n.joining
	if at, ok := j.core.Due(); ok && at <= n.clock() {
		n.joins(join.Tick{})
	}
	if !n.over && !j.ready && n.clock() > j.deadline() {
		n.joinAgain()
	}
}

func (n *node) joinAgain() {
	n.w.met["join given up"]++
	n.fenced()
}

// admitted tells the core that joins of a new view. It hears of that after the step that has brought the view.
func (n *node) admitted() {
	if n.joining.viewed && !n.over {
		n.joining.viewed = false
		n.joins(join.Viewed{Cluster: n.view.Cluster, Members: len(n.view.Members)})
	}
}

// inquire asks a seed, whichever life it has by then.
func (n *node) inquire(e join.Ask) {
	w, to := n.w, n.w.named(e.Seed)
	fails := func(after time.Duration, err error) {
		n.after(after, func() { n.joins(join.Answered{Seed: e.Seed, Num: e.Num, Err: err}) })
	}
	switch {
	case to == nil || to.life == nil && !to.off && !to.hung && w.linked(n.host, to) && w.linked(to, n.host):
		fails(w.short(), errRefused)
	default:
		w.sendTo(n.id, to, joinAsk{e.Num, n.joining.core.Answer()})
		fails(askFor, errSilent)
	}
}

// welcome answers a node that wants to join.
func (n *node) welcome(from phalanx.NodeID, m joinAsk) {
	n.joins(join.Asked{By: m.says, At: from.Name()})
	if n.over {
		return
	}
	says, v := member.Welcome(n.joining.core.Answer(), m.says, n.core.View())
	if n.majority != nil {
		says.Stuck = n.majority.String()
	}
	n.w.send(n.id, from, joinReply{m.num, says, v})
}

// welcomed takes the answer of a seed.
func (n *node) welcomed(from phalanx.NodeID, m joinReply) {
	seed := from.Name()
	n.joining.answers[seed] = m
	n.joins(join.Answered{Seed: seed, Num: m.num, Answer: m.says})
}

// named returns the machine with a name, or nil.
func (w *world) named(name string) *host {
	for _, h := range w.hosts {
		if h.name == name {
			return h
		}
	}
	return nil
}

func hostName(i int) string { return fmt.Sprintf("n%d", i) }
