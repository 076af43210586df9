package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx/internal/bench"
)

// job is one kind of work that all systems do.
type job struct {
	Op       string        `json:"op"`
	Nodes    int           `json:"nodes"`
	Size     int64         `json:"size"` // bytes of each node's input, or of the broadcast object
	Interval time.Duration `json:"interval"`
	Slow     int64         `json:"slow,omitempty"` // by how much the second node's link is slower; 0: it is not
	Runs     int           `json:"runs"`
}

// atRoot reports whether a run is over when the first node has its result; otherwise
// it is over when the last one has it.
func (j job) atRoot() bool {
	return j.Op == bench.Gather || j.Op == bench.Reduce || j.Op == bench.RoundTrip || slices.Contains(directoryOps, j.Op)
}

// payload is the share of a link's rate that carries a stream's bytes: 1,448 of the
// 1,514 of an Ethernet frame.
const payload = 1448.0 / 1514

// bound is the least time in which the bytes can cross the links, whose rate is in bits
// per second; 0 for links without a rate, and for no bytes. When nodes come one by one,
// the last one's bytes have to cross its link after it came.
func (j job) bound(rate int64) time.Duration {
	if rate == 0 || j.Size == 0 {
		return 0
	}
	s, n := float64(j.Size), float64(j.Nodes)
	bytes := map[string]float64{bench.Broadcast: s, bench.Gather: (n - 1) * s, bench.Reduce: s, bench.AllReduce: 2 * (n - 1) / n * s, bench.RoundTrip: 2 * s}[j.Op]
	least := time.Duration(bytes / (float64(rate) / 8 * payload) * float64(time.Second))
	return least + time.Duration(j.Nodes-1)*j.Interval
}

func (j job) String() string {
	s := fmt.Sprintf("%s, %d nodes", j.Op, j.Nodes)
	if j.Size > 0 {
		s = fmt.Sprintf("%s %s, %d nodes", j.Op, sizeText(j.Size), j.Nodes)
	}
	if j.Interval > 0 {
		s += fmt.Sprintf(", %v apart", j.Interval)
	}
	if j.Slow > 0 {
		s += fmt.Sprintf(", to all but one whose link is %d times slower", j.Slow)
	}
	return s
}

var units = []struct {
	name  string
	bytes int64
}{{"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10}, {"B", 1}}

func sizeText(n int64) string {
	for _, u := range units {
		if n >= u.bytes && n%u.bytes == 0 {
			return fmt.Sprint(n/u.bytes, " ", u.name)
		}
	}
	return fmt.Sprint(n, " B")
}

// parseSize reads a size as 32MB; 1 KB is 1,024 bytes.
func parseSize(s string) (int64, error) {
	for _, u := range units {
		if number, ok := strings.CutSuffix(strings.ToUpper(s), u.name); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
			if err != nil || n <= 0 || n > 8<<30/u.bytes {
				break
			}
			if n*u.bytes%4 != 0 {
				return 0, fmt.Errorf("%q is no multiple of the 4 bytes of a float32", s)
			}
			return n * u.bytes, nil
		}
	}
	return 0, fmt.Errorf("%q is no size of up to 8GB, such as 1KB or 32MB", s)
}

// parseRate reads a rate as 400mbit or 10gbit; "none" is 0.
func parseRate(s string) (int64, error) {
	if s == "none" {
		return 0, nil
	}
	for suffix, unit := range map[string]int64{"mbit": 1e6, "gbit": 1e9} {
		if number, ok := strings.CutSuffix(s, suffix); ok {
			if n, err := strconv.ParseInt(number, 10, 64); err == nil && n > 0 && n <= 1000 {
				return n * unit, nil
			}
		}
	}
	return 0, fmt.Errorf("%q is no rate, such as 400mbit, 10gbit or none", s)
}

func parseAll[T any](list string, parse func(string) (T, error)) ([]T, error) {
	var all []T
	for _, s := range strings.Split(list, ",") {
		v, err := parse(strings.TrimSpace(s))
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

func oneOf(what string, known []string) func(string) (string, error) {
	return func(s string) (string, error) {
		if !slices.Contains(known, s) {
			return "", fmt.Errorf("there is no %s %q: %s", what, s, strings.Join(known, ", "))
		}
		return s, nil
	}
}
