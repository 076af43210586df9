package barrier_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
)

// TestScripts replays testdata/*.txt; run with -rewrite, then read the diff.
//
// A script drives the nodes n0, n1, … of a cluster, on which barrier b has managers in the order that
// "managers" prints. Messages are delivered at once, and show with "trace on"; time passes with "pass".
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are no scripts: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			s := &script{lost: map[string]bool{}, calls: map[string]uint64{}}
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				s.out.Reset()
				s.run(t, d)
				if s.out.Len() == 0 {
					return "ok\n"
				}
				return s.out.String()
			})
		})
	}
}

// script is what one of them has made.
type script struct {
	*clusterOf
	cfg   barrier.Config
	calls map[string]uint64 // by node and entry
	order []string          // of calls
	trace bool
	began time.Duration   // the command
	lost  map[string]bool // kinds of messages, or names of nodes that hear and say nothing
	out   strings.Builder
}

func (s *script) run(t *testing.T, d *datadriven.TestData) {
	if s.clusterOf != nil {
		s.began = s.now
	}
	node := func() phalanx.NodeID { return s.named(t, d, d.CmdArgs[0].Key) }
	host := func() barrier.Entry { return barrier.Entry{Host: d.CmdArgs[1].Key} }
	switch d.Cmd {
	case "new": // new N
		s.clusterOf = newCluster(t, s.number(t, d, d.CmdArgs[0].Key))
		s.lose = func(from, to phalanx.NodeID, m barrier.Message) bool {
			kind := reflect.TypeOf(m).Name()
			lost := s.lost[kind] || s.lost[from.Name()] || s.lost[to.Name()]
			if s.trace {
				if s.now > s.began {
					fmt.Fprintf(&s.out, "%v later ", s.now-s.began)
				}
				fmt.Fprintf(&s.out, "%s to %s: %s", from.Name(), to.Name(), say(m))
				if lost {
					s.out.WriteString(" (lost)")
				}
				s.out.WriteString("\n")
			}
			return lost
		}
	case "barrier": // barrier max=N timeout=D percent=N minwait=D late=catchup double semaphore=N expire=D: what those who enter give
		s.cfg = s.config(t, d)
	case "enter": // enter NODE HOST
		s.begin(node(), barrier.CallEnter, host())
	case "release": // release NODE HOST
		s.begin(node(), barrier.CallRelease, host())
	case "leave": // leave NODE HOST: of a double barrier
		s.begin(node(), barrier.CallLeave, host())
	case "delete": // delete NODE: the barrier
		s.begin(node(), barrier.CallRemove, barrier.Entry{})
	case "withdraw": // withdraw NODE HOST: its caller gives up
		s.step(node(), barrier.GiveUp{ID: s.calls[node().Name()+" "+host().Host]})
	case "batch": // batch: enter NODE HOST on each line, in one event of each node
		all := map[phalanx.NodeID]barrier.Batch{}
		for _, line := range strings.Split(strings.TrimSpace(d.Input), "\n") {
			words := strings.Fields(line)
			on := s.named(t, d, words[1])
			all[on] = append(all[on], s.newCall(on, barrier.CallEnter, barrier.Entry{Host: words[2]}))
		}
		for _, n := range s.view.Members {
			if all[n] != nil {
				s.step(n, all[n])
			}
		}
	case "lose", "mend": // lose KIND|NODE...
		for _, a := range d.CmdArgs {
			s.lost[a.Key] = d.Cmd == "lose"
		}
	case "kill":
		s.clusterOf.kill(node())
	case "remove": // remove NODE: from the view
		s.clusterOf.remove(node())
	case "trace":
		s.trace = d.CmdArgs[0].Key == "on"
	case "pass":
		s.pass(s.span(t, d, d.CmdArgs[0].Key))
	case "managers":
		for _, n := range s.managers() {
			fmt.Fprintf(&s.out, "%s ", n.Name())
		}
		fmt.Fprintln(&s.out)
	case "show": // the barrier at its primary
		for _, n := range s.view.Members {
			if core := s.cores[n]; core != nil {
				for _, seen := range core.Seen() {
					fmt.Fprintf(&s.out, "%s: %s, %s\n", n.Name(), seen.Key, standing(seen.Standing))
					for _, e := range seen.Entrances {
						fmt.Fprintf(&s.out, "  %s %s\n", e.Entry, [...]string{"waits", "is through", "was turned out", "has left", "has expired", "has withdrawn"}[e.Phase])
					}
				}
			}
		}
	default:
		t.Fatalf("%s: there is no command %q", d.Pos, d.Cmd)
	}
	if s.clusterOf != nil {
		s.settle()
		s.tell()
	}
}

func (s *script) newCall(on phalanx.NodeID, kind barrier.CallKind, e barrier.Entry) barrier.Call {
	s.ids++
	name := strings.TrimSpace(on.Name() + " " + e.Host)
	s.calls[name] = s.ids
	s.order = append(s.order, name)
	return barrier.Call{ID: s.ids, Kind: kind, Key: key, Config: s.cfg, Entry: e}
}

func (s *script) begin(on phalanx.NodeID, kind barrier.CallKind, e barrier.Entry) {
	s.step(on, s.newCall(on, kind, e))
}

// tell prints what nodes were told since the last command.
func (s *script) tell() {
	for _, name := range slices.Compact(s.order) {
		if d, ok := s.done[s.calls[name]]; ok {
			if strings.Contains(name, " ") {
				fmt.Fprintf(&s.out, "%s: %s", name, d.Verdict)
			} else {
				fmt.Fprintf(&s.out, "%s: done", name)
			}
			if d.Outcome != barrier.OK {
				fmt.Fprintf(&s.out, ", outcome %d", d.Outcome)
			}
			if d.Field != "" {
				fmt.Fprintf(&s.out, ", %s differs", d.Field)
			}
			fmt.Fprintln(&s.out)
			delete(s.done, s.calls[name])
		}
	}
	for _, n := range s.view.Members {
		for _, o := range s.said[n] {
			switch o := o.(type) {
			case barrier.TookOver:
				fmt.Fprintf(&s.out, "%s takes over from %q: %s\n", n.Name(), o.From.Name(), standing(o.Standing))
			case barrier.GivenUp:
				fmt.Fprintf(&s.out, "%s gives up: withdrawn %v, the primary has answered %v%s\n", n.Name(), o.Withdrawn, o.Heard, awaits(o.Awaits))
			case barrier.Publish:
				fmt.Fprintf(&s.out, "%s publishes: %s\n", n.Name(), happened(o.Happened))
			case barrier.Lost:
				fmt.Fprintf(&s.out, "%s: %s has lost the semaphore\n", n.Name(), o.Entry)
			default:
				fmt.Fprintf(&s.out, "%s: %T\n", n.Name(), o)
			}
		}
		delete(s.said, n)
	}
}

func happened(h barrier.Happened) string {
	what := [...]string{"entered", "fired", "late", "holder expired", "holder gone", "knee", "removed", "emptied"}[h.What]
	s := fmt.Sprintf("%s %s", what, h.Entry)
	if h.What == barrier.HasFired {
		s = fmt.Sprintf("fired with %d of %d (%s) after %v", h.N, h.Max, h.Cause, h.After)
	}
	if len(h.Lost) > 0 {
		s += fmt.Sprintf(", cannot tell %v", h.Lost)
	}
	return strings.TrimSpace(s)
}

func standing(s barrier.Standing) string {
	text := fmt.Sprintf("%d of %d, %s", s.N, s.Max, s.Cause)
	if len(s.Holders) > 0 {
		text += fmt.Sprintf(", held by %v", s.Holders)
	}
	return text
}

// awaits says for which nodes a primary waits.
func awaits(nodes []phalanx.NodeID) (s string) {
	for i, n := range nodes {
		s += []string{", it waits for ", " and "}[min(i, 1)] + n.Name()
	}
	return s
}

// attemptsApart is by how much the attempts of one node of a clusterOf are greater than those of the
// node before it.
const attemptsApart = 1 << 20

// say is what a message says, but for stamps.
func say(m barrier.Message) string {
	switch m := m.(type) {
	case barrier.Reached:
		s := "Reached"
		for _, q := range m.Requests {
			s += fmt.Sprintf(" %s/%d", q.Entry, q.Attempt%attemptsApart)
			for _, note := range []struct {
				is   bool
				text string
			}{{q.Release, "releases"}, {q.Holds, "holds"}, {q.Waits, "waits"}, {q.Leave, "leaves"}} {
				if note.is {
					s += " " + note.text
				}
			}
		}
		return s
	case barrier.Answers:
		s := fmt.Sprintf("Answers in term %d", m.Term)
		for _, a := range m.List {
			s += fmt.Sprintf(" %s/%d %s", a.Entry, a.Attempt%attemptsApart, a.Verdict)
		}
		return s + awaits(m.Awaits)
	case barrier.Replicate:
		s := fmt.Sprintf("Replicate in term %d %d changes", m.Term, len(m.Ops))
		if m.State != nil {
			s += fmt.Sprintf(" after items from %d of %d", m.From, m.Total)
		}
		return s
	case barrier.Confirm:
		s := fmt.Sprintf("Confirm in term %d", m.Term)
		if m.Need {
			s += fmt.Sprintf(" needs, has %d items", m.Have)
		}
		return s
	case barrier.Gather:
		return fmt.Sprintf("Gather in term %d part %d", m.Term, m.Part)
	case barrier.Gathered:
		return fmt.Sprintf("Gathered in term %d part %d: %d replicas, %d participants' nodes", m.Term, m.Part, len(m.Replicas), len(m.Reached))
	case barrier.Refused:
		return fmt.Sprintf("Refused, term %d", m.Term)
	}
	return reflect.TypeOf(m).Name()
}

func (s *script) named(t *testing.T, d *datadriven.TestData, name string) phalanx.NodeID {
	for id := range s.cores {
		if id.Name() == name {
			return id
		}
	}
	for _, id := range s.view.Members {
		if id.Name() == name {
			return id
		}
	}
	t.Fatalf("%s: there is no node %q", d.Pos, name)
	return ""
}

func (s *script) config(t *testing.T, d *datadriven.TestData) (cfg barrier.Config) {
	for _, a := range d.CmdArgs {
		switch val := strings.Join(a.Vals, ""); a.Key {
		case "max":
			cfg.Max = s.number(t, d, val)
		case "percent":
			cfg.Percent = s.number(t, d, val)
		case "timeout":
			cfg.Timeout = s.span(t, d, val)
		case "minwait":
			cfg.MinWait = s.span(t, d, val)
		case "late":
			cfg.Late = barrier.CatchUp
		case "double":
			cfg.Double = true
		case "throttle":
			cfg.Throttle = barrier.Throttle{Count: s.number(t, d, val), Period: time.Second}
		case "semaphore":
			cfg.Semaphore.Count = s.number(t, d, val)
		case "expire":
			cfg.Semaphore.Timeout = s.span(t, d, val)
		default:
			t.Fatalf("%s: a barrier has no %q", d.Pos, a.Key)
		}
	}
	return cfg
}

func (s *script) number(t *testing.T, d *datadriven.TestData, text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", d.Pos, err)
	}
	return n
}

func (s *script) span(t *testing.T, d *datadriven.TestData, text string) time.Duration {
	span, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("%s: %v", d.Pos, err)
	}
	return span
}
