package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx/cluster"
)

// point is one measurement, with N things.
type point struct {
	Part string             `json:"part"`
	N    int                `json:"n"`
	Us   map[string]float64 `json:"us"`    // microseconds for each thing: medians
	Each float64            `json:"bytes"` // memory for each thing, besides its bytes
}

// part is one kind of measurement.
type part struct {
	name    string
	of      string // names the things
	counts  []int
	measure func(context.Context, *point, []*cluster.Node) error
}

// parts is set by init, as its measurements refer to it.
var parts []part

func init() {
	parts = []part{
		{"flight", "objects of 64 KB in flight at once", []int{1, 10, 100, 1000, 10_000}, flight},
		{"reduces", "reduces of 4 x 1 MB at once", []int{1, 2, 4, 8, 16, 32, 64}, reduces},
		{"held", "objects of 1 KB held", []int{1, 1000, 10_000, 100_000}, held},
		{"views", "views of 64 KB that the reader holds", []int{1, 1000}, views},
		{"events", "open event streams", []int{1, 10}, events},
	}
}

const (
	patience = 5 * time.Minute
	memory   = 3 << 30 // of each node
	nodes    = 4
)

// measure fills p in.
func (p *point) measure() error {
	kind := parts[slices.IndexFunc(parts, func(k part) bool { return k.name == p.Part })]
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var all []*cluster.Node
	for i := range nodes {
		log := logrus.New()
		log.SetLevel(logrus.ErrorLevel)
		cfg := cluster.Config{Name: fmt.Sprint("n", i), Memory: memory, Deadline: patience, Logger: log}
		if i > 0 {
			cfg.Seeds = []string{all[0].ControlAddr()}
		}
		n, err := cluster.Join(ctx, cfg)
		if err != nil {
			return err
		}
		all = append(all, n)
	}
	time.Sleep(time.Second) // until shards have moved to the new nodes
	p.Us = map[string]float64{}
	return kind.measure(ctx, p, all)
}

// peak runs f, and returns by how much the memory of the process rose above its size
// before.
func peak(f func() error) (float64, error) {
	runtime.GC()
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // the peak is the present size
		return 0, err
	}
	before, err := status("VmRSS")
	if err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	most, err := status("VmHWM")
	return most - before, err
}

// status returns a line of the process's memory in bytes.
func status(name string) (float64, error) {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return kb * 1024, err
		}
	}
	return 0, fmt.Errorf("the process has no %s", name)
}

// median of durations, in microseconds.
func median(all []time.Duration) float64 {
	slices.Sort(all)
	return float64(all[len(all)/2].Nanoseconds()) / 1e3
}
