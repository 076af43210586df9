package main

import (
	"fmt"
	"os"
	"time"

	"github.com/phalanx-go/phalanx"
)

// quiet is the result of a run without a failure.
type quiet struct {
	Busy      int     `json:"busy_per_core"`
	Nodes     int     `json:"nodes"`
	Seconds   float64 `json:"seconds"`
	Suspected int     `json:"suspected"` // times that a node suspected another
	False     int     `json:"false_down"`
	Latest    float64 `json:"latest_ms"` // by how much a sleep of 10 ms came late, at most: how busy the machine was
}

func (q quiet) String() string {
	return fmt.Sprintf("nothing failed among %d for %v, %d busy processes on each core: %d removed, %d suspicions that were taken back (a sleep of 10 ms came %.0f ms late at most)",
		q.Nodes, time.Duration(q.Seconds)*time.Second, q.Busy, q.False, q.Suspected, q.Latest)
}

// watch runs nodes without a failure and counts suspicions and removals.
func watch(o options) (quiet, error) {
	q := quiet{Busy: o.busy, Nodes: o.nodes, Seconds: o.length.Seconds()}
	b := &bench{o: o, lines: make(chan told, 10_000)}
	defer b.stop()
	if err := b.fill(); err != nil {
		return q, err
	}
	defer burn(o.busy)()
	down := map[phalanx.NodeID]bool{}
	end := time.After(o.length)
	began := time.Now()
	progress := time.NewTicker(time.Second)
	defer progress.Stop()
	late := make(chan float64, 1)
	go func() { late <- latest(o.length) }()
	for {
		select {
		case t := <-b.lines:
			b.take(t)
			switch t.What {
			case "suspected":
				q.Suspected++
			case "down":
				down[t.Node] = true
			}
		case <-progress.C:
			fmt.Fprintf(os.Stderr, "\r%v: %d suspicions, %d removed ", time.Since(began).Round(time.Second), q.Suspected, len(down))
		case <-end:
			fmt.Fprintln(os.Stderr)
			q.False, q.Latest = len(down), <-late
			return q, nil
		}
	}
}

// latest returns by how many milliseconds a sleep of 10 ms came late at most.
func latest(length time.Duration) float64 {
	worst := time.Duration(0)
	for end := time.Now().Add(length); time.Now().Before(end); {
		began := time.Now()
		time.Sleep(10 * time.Millisecond)
		worst = max(worst, time.Since(began)-10*time.Millisecond)
	}
	return float64(worst) / 1e6
}
