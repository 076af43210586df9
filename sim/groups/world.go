package groups

import (
	"io"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/protocol/group"
	"github.com/phalanx-go/phalanx/sim/stage"
)

const ms = time.Millisecond

// Config says what to simulate.
type Config struct {
	Seed  uint64
	Trace io.Writer // nil: nothing is written
}

// world is the whole cluster.
type world struct {
	*stage.Stage
	cruel bool // coordinators die while they propose a group to nodes that do not know it, or tell what was decided
	work  *workload
	check *checker
}

// Run simulates one seed. It returns an error that says what was wrong.
func Run(cfg Config) error {
	w := &world{}
	w.Stage = stage.New(cfg.Seed, w, cfg.Trace)
	w.Rejoin = true
	w.check = newChecker(w)
	w.work = newWorkload(w)
	for range 2 + w.R.IntN(7) {
		w.Join()
	}
	w.Run(100 * ms)
	over := 200*ms + w.Upto(2000*ms)
	w.work.begin(over)
	w.Faulty = w.R.IntN(3) > 0
	w.cruel = w.R.IntN(2) == 0
	for end := w.Now + over; w.Now < end && w.Err == nil; {
		w.Run(20*ms + w.Upto(700*ms))
		if w.R.IntN(3) > 0 {
			for range 1 + w.R.IntN(2) {
				w.Fault()
			}
		}
	}
	w.cruel = false
	w.Quiet(30 * time.Second)
	if w.Err == nil {
		w.check.atEnd()
	}
	return w.Err
}

// NewCore returns a node's part.
func (w *world) NewCore(int) stage.Core { return group.NewCore(group.Config{}) }

// Learned gives a core its view.
func (w *world) Learned(n *stage.Node) {
	members := map[phalanx.NodeID]bool{}
	for _, id := range n.View.Members {
		members[id] = true
	}
	w.step(n, group.Viewed{Self: n.ID, Number: n.View.Number, Members: members})
}

// Encode returns a message as nodes send it.
func (w *world) Encode(from, to phalanx.NodeID, m any) ([]byte, error) {
	return proto.Marshal(messages.GroupToProto(from, to, m.(group.Message)))
}

// Decode is the inverse of Encode.
func (w *world) Decode(b []byte) (any, error) {
	var l messages.GroupLetter
	if err := proto.Unmarshal(b, &l); err != nil {
		return nil, err
	}
	_, _, m, err := messages.GroupFromProto(&l)
	return m, err
}

// Heard gives a core a message.
func (w *world) Heard(n *stage.Node, from phalanx.NodeID, m any) {
	w.step(n, group.Heard{From: from, Message: m.(group.Message)})
}

// Tick tells a core that time has passed.
func (w *world) Tick(n *stage.Node) { w.step(n, group.Tick{}) }

// Gone ends the members on a node.
func (w *world) Gone(n *stage.Node) { w.work.gone(n) }

// step gives a core an event, and carries out what it asks for.
func (w *world) step(n *stage.Node, e group.Event) {
	if w.Err != nil {
		return
	}
	for _, o := range n.Core.(*group.Core).Step(w.Clock(n), e) {
		if n.Dead { // in the midst of it
			return
		}
		switch o := o.(type) {
		case group.Send:
			w.send(n, o)
		case group.Done:
			w.work.done(n, o)
		case group.GivenUp:
			w.work.givenUp(n, o)
		case group.Revoked:
			w.check.revoked(n, o)
		case group.Failed:
			w.check.failed(n, o)
		}
	}
	w.Wake(n)
}

// crucial reports whether it matters that a coordinator dies before it has sent the message to
// all: it tells what was decided, or asks nodes that know nothing of a group yet.
func crucial(m group.Message) bool {
	switch m := m.(type) {
	case group.Decide:
		return true
	case group.Propose:
		return m.Roster != nil
	}
	return false
}

// send sends a message, sometimes once more, or the node dies before it.
func (w *world) send(n *stage.Node, o group.Send) {
	if crucial(o.Message) && w.cruel && w.R.IntN(30) == 0 && w.Well(n) && len(w.Live()) > 1 {
		w.Crash(n)
	}
	w.Send(n, o.To, o.Message)
	if as := n.ID; w.Faulty && w.R.IntN(30) == 0 { // it comes once more, perhaps to a later group of that name
		w.After(w.Upto(3000*ms), func() {
			if !n.Dead && n.ID == as {
				w.Send(n, o.To, o.Message)
			}
		})
	}
}
