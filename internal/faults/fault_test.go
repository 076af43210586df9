package faults

import (
	"slices"
	"syscall"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/internal/bed"
)

// fault is something that happens to a node, its host or its link.
type fault struct {
	name   string
	short  bool // tested without -wide, unless the test names others
	strike func(t testing.TB, victim *process)
	heal   func(t testing.TB, victim *process) // nil: it does not come back
	fate   fate
	mute   bool // nobody hears of it from the node itself: one that can tell may have others leave it before they notice
}

type fate int

const (
	gone   fate = iota // the node leaves the view, and does not come back
	ousted             // it leaves the view, and is back when the fault is over
	kept               // it stays a member, unless its link is so full that heartbeats do not get through
)

func cut(of func(b *bed.Bed, host int) []bed.Cut) (strike, heal func(testing.TB, *process)) {
	strike = func(t testing.TB, p *process) { do(t, shared.Cut(of(shared, p.host)...)) }
	heal = func(t testing.TB, p *process) { do(t, shared.Heal(of(shared, p.host)...)) }
	return strike, heal
}

func do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// slower is by what a slow link is slower.
const slower = 100

func faults() []fault {
	all := []fault{
		{name: "kill", short: true, mute: true, fate: gone, strike: func(t testing.TB, p *process) { p.signal(t, syscall.SIGKILL) }},
		{name: "stop", short: true, mute: true, fate: ousted,
			strike: func(t testing.TB, p *process) { p.signal(t, syscall.SIGSTOP) },
			heal:   func(t testing.TB, p *process) { p.signal(t, syscall.SIGCONT) }},
		{name: "slow", fate: kept,
			strike: func(t testing.TB, p *process) { do(t, shared.Slow(p.host, slower)) },
			heal:   func(t testing.TB, p *process) { do(t, shared.Slow(p.host, 1)) }},
	}
	for _, c := range []struct {
		name        string
		short, mute bool
		of          func(b *bed.Bed, host int) []bed.Cut
	}{
		{"drop", true, true, func(b *bed.Bed, i int) []bed.Cut { return bed.Between(i, b.Hosts()...) }},
		{"reset", true, false, func(b *bed.Bed, i int) []bed.Cut { return bed.Refuse(bed.Between(i, b.Hosts()...)) }},
		{"drop what it sends", false, true, func(b *bed.Bed, i int) []bed.Cut { return bed.From(i, b.Hosts()...) }},
		{"drop what it is sent", false, false, func(b *bed.Bed, i int) []bed.Cut { return bed.To(i, b.Hosts()...) }},
	} {
		f := fault{name: c.name, short: c.short, mute: c.mute, fate: ousted}
		f.strike, f.heal = cut(c.of)
		all = append(all, f)
	}
	return all
}

// each runs a test for each fault; without -wide for those that are short, or
// those that are named.
func each(t *testing.T, test func(t *testing.T, f fault), short ...string) {
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			if runs := f.short && len(short) == 0 || slices.Contains(short, f.name); !*wide && !runs {
				t.Skip("only with -wide")
			}
			test(t, f)
		})
	}
}

// happens lets the fault strike. It ends with the test at the latest.
func (f fault) happens(t testing.TB, victim *process) (was phalanx.NodeID) {
	t.Helper()
	was = victim.id(t)
	if f.heal != nil {
		t.Cleanup(func() { f.heal(t, victim) })
	}
	f.strike(t, victim)
	return was
}

// ends heals, and waits until the node is what it has to be, as seen by those
// that were there when it failed. It returns who is a member then, with those
// that came later.
func (f fault) ends(t testing.TB, nodes []*process, victim *process, was phalanx.NodeID, later ...*process) []*process {
	t.Helper()
	others := without(nodes, victim)
	nodes = append(slices.Clone(nodes), later...)
	switch f.fate {
	case gone:
		removed(t, others, was)
		settle(t, without(nodes, victim))
		return without(nodes, victim)
	case ousted:
		removed(t, others, was)
		f.heal(t, victim)
		expect(t, victim, func(e actors.NodeFenced) bool { return e.Node == was })
		expect(t, victim, func(e actors.NodeRejoined) bool { return e.Was == was })
	case kept:
		f.heal(t, victim)
		nobodyElse(t, nodes, was)
	}
	settle(t, nodes)
	return nodes
}

// needsWide skips what takes too long for every run.
func needsWide(t testing.TB) {
	if !*wide {
		t.Skip("only with -wide")
	}
}
