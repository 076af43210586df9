package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx/internal/steal"
)

// The kinds of faults.
const (
	killed   = "kill"
	stopped  = "stop"
	leaving  = "leave"
	joined   = "join"
	mistaken = "removed by mistake" // not by the driver
	still    = "standstill"         // of the machine
)

const (
	restorePatience = 40 * time.Second // until the cluster could lose another node
	leavePatience   = 30 * time.Second // Leave has less, and names the copies that it could not hand over
	fewest          = 4                // live nodes, so that one can die while one is stopped
	robbed          = 0.2              // a node may leave too slowly if this share of the cores' time was stolen
)

// nemesis causes one fault after the other until ctx ends, and returns when the
// cluster has recovered.
func (s *soak) nemesis(ctx context.Context, rng *rand.Rand) {
	for {
		pause(ctx, 300*time.Millisecond+milliseconds(rng, 2000))
		if ctx.Err() != nil || s.broken() {
			return
		}
		if err := s.strike(rng); err != nil {
			s.fail(err)
			return
		}
	}
}

func (s *soak) strike(rng *rand.Rand) error {
	live := len(s.fleet.members())
	missing := s.cfg.Nodes - live
	dice := rng.IntN(100)
	switch {
	case missing >= 2 || missing > 0 && dice < 40:
		return s.comes()
	case live <= fewest:
		return s.hangs(rng)
	case dice < 40:
		return s.dies(rng)
	case dice < 60:
		return s.goes(rng)
	default:
		return s.hangs(rng)
	}
}

// dies kills a process.
func (s *soak) dies(rng *rand.Rand) error {
	p := s.fleet.any(rng)
	control := s.controlOf(p)
	w := s.faults.begin(p.name, killed, s.clock())
	s.tell("kill %s", p.name)
	if err := p.Kill(); err != nil {
		return err
	}
	s.died(p, w.from)
	s.fleet.away(p, control)
	return s.restored(w)
}

// hangs stops a process for a while. The others may remove its node, which then joins
// again by itself.
func (s *soak) hangs(rng *rand.Rand) error {
	p := s.fleet.any(rng)
	w := s.faults.begin(p.name, stopped, s.clock())
	d := 200*time.Millisecond + milliseconds(rng, 2800)
	s.tell("stop %s for %v", p.name, d)
	if err := p.suspend(); err != nil {
		return err
	}
	pause(context.Background(), d)
	if err := p.resume(); err != nil {
		return err
	}
	return s.restored(w)
}

// goes has a process leave in good order.
func (s *soak) goes(rng *rand.Rand) error {
	p := s.fleet.any(rng)
	control := s.controlOf(p)
	w := s.faults.begin(p.name, leaving, s.clock())
	s.tell("%s leaves", p.name)
	stolen := steal.Total()
	p.Ask()
	ctx, cancel := context.WithTimeout(context.Background(), leavePatience)
	defer cancel()
	err := p.Wait(ctx)
	s.left(p)
	s.fleet.away(p, control)
	switch share := steal.Share(steal.Total()-stolen, s.clock()-w.from); {
	case err != nil && share > robbed: // its only copies are gone
		s.tell("%s left too late, as %.0f %% of the cores' time was stolen: %v", p.name, 100*share, err)
		s.died(p, w.from)
	case err != nil:
		return fmt.Errorf("%s could not leave in good order: %w: %s", p.name, err, p.errors.String())
	}
	return s.restored(w)
}

// comes starts a process.
func (s *soak) comes() error {
	w := s.faults.begin("", joined, s.clock())
	p, _, err := s.fleet.join(s.ctx)
	if err != nil {
		return err
	}
	s.tell("%s joined", p.name)
	return s.restored(w)
}

func (s *soak) controlOf(p *process) string {
	if st, err := p.state(false); err == nil {
		return st.Control
	}
	return ""
}

// restored waits until the cluster could lose another node.
func (s *soak) restored(w *window) error {
	why := "nobody has asked it"
	settled := s.eventually(restorePatience, func() bool { why = s.fleet.settled(); return why == "" })
	if !settled {
		return fmt.Errorf("%v after a %s of %s the cluster has not recovered: %s", restorePatience, w.kind, w.process, why)
	}
	if !s.eventually(restorePatience, func() bool { why = s.bare(); return why == "" }) {
		return fmt.Errorf("%v after a %s of %s objects miss copies: %s", restorePatience, w.kind, w.process, why)
	}
	s.faults.end(w, s.clock())
	s.tell("restored %.2f s after the %s of %s", (s.clock() - w.from).Seconds(), w.kind, w.process)
	return nil
}

// bare returns an object that was put with two copies and has fewer, or "".
func (s *soak) bare() string {
	for _, o := range s.ledger.objects() {
		if !o.wantsCopies() {
			continue
		}
		for _, p := range s.fleet.members()[:1] {
			l, ok := p.ask(order{Do: "stat", Object: o.id, Deadline: callDeadline}, answerPatience)
			if ok && l.Kind == 0 && l.State == "final" && !l.Inline && l.Pinned < 2 {
				return fmt.Sprintf("%s has %d", o.id, l.Pinned)
			}
		}
	}
	return ""
}

// removed notes that a node was removed from the view, or is back. If its process was
// not stopped that was a mistake, which judgeMistakes judges at rest. Objects that only
// this node has count as lost until it is back.
func (s *soak) removed(p *process, back bool) {
	w := s.faults.open(p.name, mistaken)
	switch now := s.clock(); {
	case back && w != nil:
		s.faults.end(w, now)
	case !back && w == nil && !s.faults.on(p.name, now, now):
		w = s.faults.begin(p.name, mistaken, now-disturbance)
		s.stills.mistaken(p.name, now)
		s.tell("%s was removed without a fault of its own", p.name)
	}
	if back {
		return
	}
	if w == nil {
		w = s.faults.open(p.name, stopped)
	}
	if w == nil { // it was killed, or leaves: died and left note that
		return
	}
	s.fate.Lock()
	defer s.fate.Unlock()
	s.faults.remove(w)
	hidden := s.faults.hidden(w)
	for _, o := range s.ledger.objects() {
		if o.hides(p.name) || slices.Contains(hidden, o) {
			s.lost(o, w.from)
		}
	}
}
