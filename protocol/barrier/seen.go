package barrier

import (
	"cmp"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Seen is a primary's report on a barrier.
type Seen struct {
	Key       Key
	Config    Config
	Managers  []phalanx.NodeID // the primary first
	Standing  Standing
	Entrances []Entrance    // the first MaxSeen of them
	More      int           // that are left out
	Since     time.Duration // the first entry
	Knee      time.Duration // after the first entry, when a knee will be found without further entries if Knee.Percent are there; 0: there is none
	Level     int           // how many may hold the semaphore now
	Holding   int           // and how many do
	Watcher   phalanx.NodeID
}

// Bounds of a report.
const (
	MaxSeen  = 1000 // entries of a barrier
	seenOver = 100  // barriers that are over
)

// Seen returns the barriers whose primary this node is: all open ones, and the last ones
// that are over.
func (c *Core) Seen() []Seen {
	if !c.gathering.Done() {
		return nil
	}
	shown := map[Key]bool{}
	for k := range c.active {
		shown[k] = true
	}
	var over []*replica
	for k, r := range c.replicas {
		if !shown[k] && c.primary(k) == c.view.Self {
			over = append(over, r)
		}
	}
	slices.SortFunc(over, func(a, b *replica) int { return cmp.Or(cmp.Compare(b.touched, a.touched), compareKeys(a.key, b.key)) })
	for _, r := range over[:min(len(over), seenOver)] {
		shown[r.key] = true
	}
	var all []Seen
	for _, k := range sorted(shown) {
		r := c.replicas[k]
		if c.primary(k) != c.view.Self {
			continue
		}
		s := Seen{Key: k, Config: r.b.cfg, Managers: c.managers(k), Standing: c.standing(r), Watcher: r.b.Watcher}
		if r.b.Begun {
			s.Since = r.clock(c.now) - r.b.Began
		}
		if t, ok := r.b.Detector.Threshold(); ok && r.b.pending() && r.b.cfg.Knee.on() {
			s.Knee = max(t, r.b.cfg.Knee.Time)
		}
		s.Level, s.Holding = r.b.Adaptive.Level, len(r.b.Holders)
		n := min(len(r.b.Entrances), MaxSeen)
		s.Entrances, s.More = r.b.State.Clone().Entrances[:n], len(r.b.Entrances)-n
		all = append(all, s)
	}
	return all
}
