package barriers

import (
	"fmt"
	"io"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/protocol/barrier"
	"github.com/phalanx-go/phalanx/sim/stage"
)

const ms = time.Millisecond

// What the cluster around the cores does.
const (
	leaseEvery = 50 * ms
	managers   = 3
	keep       = 3 * time.Second // longer than any message is on its way
	part       = 400             // bytes: what is long goes in parts here that are tiny
	longest    = 1600            // bytes that the network takes: a piece of a state and the changes after it, and what goes with them
)

// Config says what to simulate.
type Config struct {
	Seed  uint64
	Trace io.Writer // nil: nothing is written
}

// cruel says that so many nodes die at once that all managers of a barrier may.
func (c Config) cruel() bool { return c.Seed%8 == 7 }

// world is the whole cluster.
type world struct {
	*stage.Stage
	cfg   Config
	work  *workload
	check *checker
	late  map[*stage.Node]barrier.Batch // what came since a core's last step

	restarts uint64          // of actors
	pasts    []*barrier.Past // by node
}

func newWorld(cfg Config) *world {
	w := &world{cfg: cfg, late: map[*stage.Node]barrier.Batch{}}
	w.Stage = stage.New(cfg.Seed, w, cfg.Trace)
	w.check = newChecker(w)
	w.work = &workload{w: w, held: map[holding]attempt{}, freed: map[holding]attempt{}, open: map[uint64]*call{}, watched: map[barrier.Key]bool{}, cruel: cfg.cruel()}
	n := 2 + w.R.IntN(6)
	if cfg.cruel() {
		n += 4 // so that all managers of a barrier may be among those who die
	}
	for range n {
		w.Join()
	}
	w.renew()
	return w
}

// NewCore returns a node's part.
func (w *world) NewCore(i int) stage.Core {
	w.pasts = append(w.pasts, new(barrier.Past))
	return w.newCore(i, 0)
}

// newCore returns the core of a node's actor that was started again so many times in all.
func (w *world) newCore(i int, restarts uint64) *barrier.Core {
	return barrier.NewCore(barrier.CoreConfig{Managers: managers, Keep: keep, Linger: time.Minute, Part: part, Window: 1 + int(w.cfg.Seed%3), Past: w.pasts[i], Attempts: uint64(i)<<32 + restarts<<20})
}

// viewed is a view as a core takes it.
func viewed(self phalanx.NodeID, v stage.View) barrier.Viewed {
	return barrier.Viewed{Self: self, Number: v.Number, Members: v.Members, Leaving: v.Leaving}
}

// Learned gives a core its view.
func (w *world) Learned(n *stage.Node) { w.step(n, viewed(n.ID, n.View)) }

// Encode returns a message as nodes send it.
func (w *world) Encode(from, to phalanx.NodeID, m any) ([]byte, error) {
	b, err := proto.Marshal(messages.BarrierToProto(from, to, m.(barrier.Message)))
	if err == nil && len(b) > longest {
		err = fmt.Errorf("it has %d bytes, at most %d can be sent", len(b), longest)
	}
	return b, err
}

// Decode is the inverse of Encode.
func (w *world) Decode(b []byte) (any, error) {
	var l messages.BarrierLetter
	if err := proto.Unmarshal(b, &l); err != nil {
		return nil, err
	}
	_, _, m, err := messages.BarrierFromProto(&l)
	return m, err
}

// Heard gives a core a message.
func (w *world) Heard(n *stage.Node, from phalanx.NodeID, m any) {
	w.later(n, barrier.Heard{From: from, Message: m.(barrier.Message)})
}

// later gives a core an event together with those that come within a moment.
func (w *world) later(n *stage.Node, e barrier.Event) {
	if w.late[n] = append(w.late[n], e); len(w.late[n]) > 1 {
		return
	}
	w.After(w.Upto(ms), func() {
		w.To(n, func() {
			if len(w.late[n]) > 0 {
				w.step(n, barrier.Batch{})
			}
		})
	})
}

// Tick tells a core that time has passed.
func (w *world) Tick(n *stage.Node) { w.step(n, barrier.Tick{}) }

// Gone holds those who are on a node for failed.
func (w *world) Gone(n *stage.Node) {
	w.check.nodeGone(n)
	if n.Dead {
		w.work.nodeGone(n)
	}
}

// renew gives nodes their leases, as long as they are members and answer.
func (w *world) renew() {
	for _, n := range w.Live() {
		w.step(n, barrier.Leased{Until: w.Clock(n) + stage.SilentFor})
	}
	w.After(leaseEvery, w.renew)
}

// step gives a core an event, after those that came before it, and carries out what it
// asks for.
func (w *world) step(n *stage.Node, e barrier.Event) {
	if w.Err != nil {
		return
	}
	if batch := w.late[n]; len(batch) > 0 {
		delete(w.late, n)
		e = append(batch, e)
	}
	for _, o := range n.Core.(*barrier.Core).Step(w.Clock(n), e) {
		switch o := o.(type) {
		case barrier.Send:
			w.Send(n, o.To, o.Message)
		case barrier.Done:
			w.work.done(n, o)
		case barrier.GivenUp:
			w.work.givenUp(n, o)
		case barrier.Freed:
			delete(w.work.freed, holding{n, o.Key, o.Entry})
		case barrier.Callback:
			w.After(w.Upto(5*ms), func() {
				w.To(n, func() {
					w.step(n, barrier.Replied{Key: o.Key, Ask: o.Asked.Ask, Yes: o.Asked.WouldRelease, N: o.Asked.Suggest})
				})
			})
		default:
			w.check.saw(n, o)
		}
		w.check.holders()
	}
	w.Wake(n)
}

// massacre kills all managers of a barrier at once.
func (w *world) massacre() {
	gone := barrier.ManagersOf(viewed("", w.View), "b0")
	for _, n := range w.Live() {
		if slices.Contains(gone, n.ID) {
			w.Crash(n)
		}
	}
	w.Run(2 * time.Second)
}
