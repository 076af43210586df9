package main

import (
	"fmt"
	"strings"
)

// node is the cost of one process.
type node struct {
	Node     string  `json:"node"`
	Role     string  `json:"role"` // leader, voter or member
	Percent  float64 `json:"core_percent"`
	Switches float64 `json:"switches_per_second"`
	Forced   float64 `json:"forced_per_second"` // of them, by others that wanted the core
}

// result is the output.
type result struct {
	Nodes    []node  `json:"nodes"`
	Seconds  float64 `json:"seconds"`
	Percent  float64 `json:"core_percent"`
	Switches float64 `json:"switches_per_second"`
	Forced   float64 `json:"forced_per_second"`
}

// roles are in the order of the output.
var roles = []string{"leader", "voter", "member"}

func (r *result) add(n node) {
	r.Nodes = append(r.Nodes, n)
	r.Percent += n.Percent
	r.Switches += n.Switches
	r.Forced += n.Forced
}

func (r result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d idle nodes, a process each, for %.0f s: %.2f %% of a core, %.0f context switches a second, %.0f of them forced by other processes\n", len(r.Nodes), r.Seconds, r.Percent, r.Switches, r.Forced)
	for _, role := range roles {
		count, sum := 0, node{}
		for _, n := range r.Nodes {
			if n.Role == role {
				count, sum.Percent, sum.Switches = count+1, sum.Percent+n.Percent, sum.Switches+n.Switches
			}
		}
		if count > 0 {
			fmt.Fprintf(&b, "  %d %-7s each %.2f %%, %.0f/s\n", count, role+":", sum.Percent/float64(count), sum.Switches/float64(count))
		}
	}
	return b.String()
}
