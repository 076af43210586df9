package group

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/phalanx-go/phalanx"
)

// TestScripts replays testdata/*.txt; run with -rewrite, then read the diff.
//
// A script drives the nodes n00, n01, … that have members in turn. A message takes a millisecond, and
// time passes with "run". What has happened since the last command is printed; messages show with
// "trace on".
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are no scripts: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			s := &script{calls: map[uint64]string{}, lost: map[string]bool{}}
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
	*net
	roster *Roster
	calls  map[uint64]string // those that wait
	lost   map[string]bool   // kinds of messages, or nodes that hear and say nothing
	trace  bool
	began  time.Duration // the command
	out    strings.Builder
}

// args are the arguments of a command.
type args struct {
	t *testing.T
	d *datadriven.TestData
}

func (a args) text(i int) string {
	if i >= len(a.d.CmdArgs) {
		a.t.Fatalf("%s: an argument is missing", a.d.Pos)
	}
	return a.d.CmdArgs[i].Key
}

func (a args) number(i int) int { return a.parse(a.text(i)) }

func (a args) parse(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		a.t.Fatalf("%s: %v", a.d.Pos, err)
	}
	return n
}

// ranks are the values of an argument with a name.
func (a args) ranks(name string) (all []int) {
	for _, arg := range a.d.CmdArgs {
		if arg.Key == name {
			for _, v := range arg.Vals {
				all = append(all, a.parse(v))
			}
		}
	}
	return all
}

func (a args) span(text string) time.Duration {
	span, err := time.ParseDuration(text)
	if err != nil {
		a.t.Fatalf("%s: %v", a.d.Pos, err)
	}
	return span
}

func (s *script) run(t *testing.T, d *datadriven.TestData) {
	a := args{t, d}
	if s.net != nil {
		s.began = s.now
	}
	switch d.Cmd {
	case "new": // new NODES MEMBERS
		s.net = newNet(t, a.number(0))
		s.roster = roster(t, on(a.number(0), a.number(1))...)
		s.lose = s.sees
	case "form": // form GROUP RANK... [atleast=N within=D] [of=MEMBERS]: of the first members alone
		var q Quorum
		members := s.roster
		for _, arg := range d.CmdArgs {
			switch arg.Key {
			case "atleast":
				q.AtLeast = a.parse(arg.Vals[0])
			case "within":
				q.JoinTimeout = a.span(arg.Vals[0])
			case "of":
				members = roster(t, s.roster.Members()[:a.parse(arg.Vals[0])]...)
			}
		}
		for i, arg := range d.CmdArgs[1:] {
			if len(arg.Vals) == 0 {
				s.begin(a.number(1+i), Call{Kind: CallForm, Group: a.text(0), Roster: members, Contribution: Contribution{For: ForForm, Quorum: q}})
			}
		}
	case "agree": // agree GROUP RANK VALUE [acked=(RANK...)]: the least value
		s.begin(a.number(1), Call{Kind: CallAgree, Group: a.text(0), Contribution: Contribution{For: ForAgree, Value: int64(a.number(2)), Op: Min, Acked: a.ranks("acked")}})
	case "shrink": // shrink GROUP RANK [acked=(RANK...)]
		s.begin(a.number(1), Call{Kind: CallAgree, Group: a.text(0), Contribution: Contribution{For: ForShrink, Acked: a.ranks("acked")}})
	case "revoke": // revoke GROUP RANK REASON
		rank := a.number(1)
		s.step(s.of(rank), Call{Kind: CallRevoke, Group: a.text(0), Rank: rank, Revocation: Revocation{By: rank, Reason: a.text(2)}})
	case "close": // close GROUP RANK: the member leaves
		s.step(s.of(a.number(1)), Call{Kind: CallClose, Group: a.text(0), Rank: a.number(1)})
	case "give-up": // give-up GROUP RANK: what the member waits for
		name := fmt.Sprintf("%s/%d", a.text(0), a.number(1))
		for _, id := range slices.Sorted(maps.Keys(s.calls)) {
			if s.calls[id] == name {
				s.step(s.of(a.number(1)), GiveUp{ID: id})
			}
		}
	case "kill": // kill NODE: which the others learn at once
		s.net.kill(a.number(0))
	case "lose", "mend": // lose KIND|NODE...
		for _, arg := range d.CmdArgs {
			s.lost[arg.Key] = d.Cmd == "lose"
		}
	case "trace":
		s.trace = a.text(0) == "on"
	case "run":
		s.net.run(a.span(a.text(0)))
	default:
		t.Fatalf("%s: there is no command %q", d.Pos, d.Cmd)
	}
	s.tell()
}

// sees prints a message, and reports whether it is lost.
func (s *script) sees(from, to phalanx.NodeID, m Message) bool {
	kind := reflect.TypeOf(m).Name()
	lost := s.lost[kind] || s.lost[from.Name()] || s.lost[to.Name()]
	if !s.trace {
		return lost
	}
	if s.now > s.began {
		fmt.Fprintf(&s.out, "%v later ", s.now-s.began)
	}
	fmt.Fprintf(&s.out, "%s to %s: %s", from.Name(), to.Name(), say(m))
	if lost {
		s.out.WriteString(" (lost)")
	}
	s.out.WriteString("\n")
	return lost
}

func (s *script) of(rank int) phalanx.NodeID { return s.roster.Members()[rank].Node }

func (s *script) begin(rank int, c Call) {
	c.Rank = rank
	id := s.call(s.index(s.of(rank)), c)
	s.calls[id] = fmt.Sprintf("%s/%d", c.Group, rank)
}

// tell prints what nodes were told since the last command.
func (s *script) tell() {
	if s.net == nil {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(s.calls)) {
		if d, ok := s.done[id]; ok {
			fmt.Fprintf(&s.out, "%s: %s\n", s.calls[id], result(d))
			delete(s.calls, id)
		}
		if g, ok := s.givenUp[id]; ok {
			fmt.Fprintf(&s.out, "%s gives up: absent %v\n", s.calls[id], g.Absent)
			delete(s.calls, id)
		}
	}
	for _, news := range []struct {
		what string
		of   map[string]map[phalanx.NodeID][]int
	}{{"revoked for", s.revoked}, {"has failed", s.failed}} {
		for _, group := range slices.Sorted(maps.Keys(news.of)) {
			for _, n := range slices.Sorted(maps.Keys(news.of[group])) {
				fmt.Fprintf(&s.out, "%s: %s %s %v\n", n.Name(), group, news.what, news.of[group][n])
			}
			delete(news.of, group)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(s.ended)) {
		fmt.Fprintf(&s.out, "%s: ended %v\n", n.Name(), s.ended[n])
		delete(s.ended, n)
	}
}

func result(d Done) string {
	text := [...]string{"ok", "mismatch", "used", "no member", "left behind", "removed"}[d.Outcome]
	if d.Decision.For == ForAgree && d.Outcome == OK {
		text += fmt.Sprintf(", the least is %d", d.Decision.Value)
	}
	if d.Decision.Mismatch != "" {
		text += ": " + d.Decision.Mismatch
	}
	if d.Roster != nil {
		text += fmt.Sprintf(", rank %d of %d in %s", d.Rank, d.Roster.Len(), d.Group)
	}
	if f := d.Decision.Failed; len(f) > 0 {
		text += fmt.Sprintf(", failed %v", f)
	}
	if u := d.Decision.Unacknowledged; len(u) > 0 {
		text += fmt.Sprintf(", unacknowledged %v", u)
	}
	return text
}

// say is what a message says, but for numbers that are drawn.
func say(m Message) string {
	of := func(kind, group string, seq uint64) string { return fmt.Sprintf("%s %s.%d", kind, group, seq) }
	switch m := m.(type) {
	case Contribute:
		s := of("Contribute", m.Group, m.Seq)
		for _, p := range m.Parts {
			s += fmt.Sprintf(" by %d", p.Rank)
		}
		if len(m.Gone) > 0 {
			s += fmt.Sprintf(" gone %v", m.Gone)
		}
		return s
	case Ask:
		return of("Ask", m.Group, m.Seq)
	case Standing:
		return of("Standing", m.Group, m.Seq) + fmt.Sprintf(" absent %v", m.Absent)
	case Propose:
		return of("Propose", m.Group, m.Seq) + fmt.Sprintf(" in term %d", m.Term)
	case Accept:
		return of("Accept", m.Group, m.Seq) + fmt.Sprintf(" in term %d", m.Term)
	case Decide:
		return of("Decide", m.Group, m.Seq)
	case Tell:
		switch n := m.News.(type) {
		case Revoke:
			return fmt.Sprintf("Tell %d: %s is revoked by %d, hops %v", m.Num, n.Group, n.By, n.Hops)
		case Gone:
			return fmt.Sprintf("Tell %d: of %s have left %v", m.Num, n.Group, n.Ranks)
		}
		return fmt.Sprintf("Tell %d: %T", m.Num, m.News)
	case Ack:
		return fmt.Sprintf("Ack %d", m.Num)
	}
	return reflect.TypeOf(m).Name()
}
