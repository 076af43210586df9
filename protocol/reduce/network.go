package reduce

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Path has the measurements between the coordinator's node and another one. A field
// that is zero was not measured.
type Path struct {
	Latency   time.Duration // one way
	Bandwidth float64       // bytes per second
}

// network returns the L and the B of the paper's model (section 3.4.2) for a tree of
// the nodes that have sources now. A chain's delay is the sum of its hops', so L is
// the mean of their latencies. A pipeline is as fast as its slowest link, so B is the
// least of their bandwidths. It leaves out nodes that were not measured; if none of them
// was, all measured nodes stand for them, and else the values of Config.
func (c *Coordinator) network() (time.Duration, float64) {
	var all []phalanx.NodeID
	for n := range c.cfg.Paths {
		all = append(all, n)
	}
	slices.Sort(all)
	latency, bandwidth := c.cfg.Latency, c.cfg.Bandwidth
	for _, nodes := range [][]phalanx.NodeID{all, c.candidates} { // the later the better
		var sum time.Duration
		var hops int
		least := 0.0
		for _, n := range nodes {
			p := c.cfg.Paths[n]
			if p.Latency > 0 {
				sum, hops = sum+p.Latency, hops+1
			}
			if p.Bandwidth > 0 && (least == 0 || p.Bandwidth < least) {
				least = p.Bandwidth
			}
		}
		if hops > 0 {
			latency = sum / time.Duration(hops)
		}
		if least > 0 {
			bandwidth = least
		}
	}
	return latency, bandwidth
}

// candidate takes note of a node that has a source before the degree is chosen.
func (c *Coordinator) candidate(n phalanx.NodeID) {
	if !c.fixed && n != "" && n != c.cfg.Node && !slices.Contains(c.candidates, n) && len(c.candidates) < maxCandidates {
		c.candidates = append(c.candidates, n)
	}
}

// maxCandidates bounds how many nodes the degree is chosen by.
const maxCandidates = 64
