package membership

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/phalanx-go/phalanx"
)

// answers are the seeds' last answers.
type answers struct {
	self phalanx.NodeID

	mu    sync.Mutex
	asked []string // the seeds; of also has members that have asked this node
	of    map[string]answered
}

// ask notes the seeds that are asked.
func (a *answers) ask(seeds []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = seeds
}

func (a *answers) note(said answered) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.of[said.seed] = said
}

func (a *answers) noteFirst(said answered) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, known := a.of[said.seed]; !known {
		a.of[said.seed] = said
	}
}

// String says of each seed why it did not help.
func (a *answers) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []string
	for seed, said := range a.of {
		if slices.Contains(a.asked, seed) {
			all = append(all, "seed "+seed+said.why(a.self))
		} else {
			all = append(all, "member "+seed+said.why(a.self))
		}
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

// why follows the name of a seed.
func (s answered) why(self phalanx.NodeID) string {
	switch {
	case s.err != nil:
		return fmt.Sprintf(": %v", s.err)
	case s.answer.From == self:
		return " is this node"
	case s.answer.Cluster == "":
		return ": the node is in no cluster either, and waits until most of the seeds are there"
	case s.answer.Stuck != "":
		return fmt.Sprintf(": the node is in a cluster that admits no node, since %s. A voter that was killed is a new member when it starts again. "+
			"If they do not come back, run `phalanx recover` at one of the living nodes, which forms the cluster anew; this node joins it then. "+
			"To begin a new, empty cluster instead, end the living nodes", s.answer.Stuck)
	case !s.answer.Ready:
		return ": the node is in a cluster that waits until most of the seeds are in it"
	}
	return " answered, but its cluster did not admit this node"
}

// forget drops the answers of nodes that are no longer asked.
func (a *answers) forget(asks func(at string) bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.of, func(at string, _ answered) bool { return !asks(at) && !slices.Contains(a.asked, at) })
}

// stuck reports whether the cluster of a seed admits no node.
func (a *answers) stuck() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, said := range a.of {
		if said.err == nil && said.answer.Stuck != "" {
			return true
		}
	}
	return false
}

// deserted reports whether the processes of all nodes that are asked are gone: each refuses
// connections.
func (a *answers) deserted() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	gone := 0
	for _, said := range a.of {
		switch {
		case refused(said.err):
			gone++
		case said.err != nil || said.answer.From != a.self:
			return false
		}
	}
	return gone > 0
}

// refused reports whether each address of a node refuses connections. Of a name with several addresses
// some refuse connections as long as the node runs: it listens on one of them.
func refused(err error) bool {
	all, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return errors.Is(err, syscall.ECONNREFUSED)
	}
	return !slices.ContainsFunc(all.Unwrap(), func(one error) bool { return !errors.Is(one, syscall.ECONNREFUSED) })
}

// Deserted reports whether each node that Join has asked, and none is this one, refuses connections.
func (m *Membership) Deserted() bool { return m.answers.deserted() }

// missing returns the seeds that have not answered.
func (a *answers) missing() (out []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, seed := range a.asked {
		if said, ok := a.of[seed]; !ok || said.err != nil {
			out = append(out, seed)
		}
	}
	return out
}

// Waits returns, for people, the reason for which Join waits.
func (m *Membership) Waits() string {
	text := "joining"
	if missing := m.answers.missing(); len(missing) > 0 {
		text += ", waiting for the seeds " + strings.Join(missing, ", ")
	}
	if said := m.answers.String(); said != "" {
		text += ": " + said
	}
	return text
}
