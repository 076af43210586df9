package bed

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
)

// Cut drops or refuses packets on their way from one host to another.
type Cut struct {
	From, To int
	Refuse   bool // answer with a reset, as a host without a listener does; else drop them
}

// Between cuts host a off from the others, both ways.
func Between(a int, others ...int) []Cut {
	return append(From(a, others...), To(a, others...)...)
}

// From cuts the ways from host a to the others, and not the ways back.
func From(a int, others ...int) []Cut {
	var all []Cut
	for _, b := range others {
		if b != a {
			all = append(all, Cut{From: a, To: b})
		}
	}
	return all
}

// To cuts the ways from the others to host a.
func To(a int, others ...int) []Cut {
	all := From(a, others...)
	for i := range all {
		all[i].From, all[i].To = all[i].To, all[i].From
	}
	return all
}

// Refuse makes cuts answer with a reset.
func Refuse(cuts []Cut) []Cut {
	all := slices.Clone(cuts)
	for i := range all {
		all[i].Refuse = true
	}
	return all
}

// Hosts are the numbers of all hosts.
func (b *Bed) Hosts() []int {
	all := make([]int, b.cfg.Hosts)
	for i := range all {
		all[i] = i
	}
	return all
}

// Cut begins cuts. Present cuts stay.
func (b *Bed) Cut(cuts ...Cut) error { return b.change(cuts, true) }

// Heal ends cuts. It ignores cuts that are not in force.
func (b *Bed) Heal(cuts ...Cut) error { return b.change(cuts, false) }

// HealAll ends all cuts.
func (b *Bed) HealAll() error { return b.Heal(slices.Collect(maps.Keys(b.cuts))...) }

// change changes all hosts at the same time, each in one step.
func (b *Bed) change(cuts []Cut, on bool) error {
	hosts := map[int]bool{}
	for _, c := range cuts {
		for _, i := range []int{c.From, c.To} {
			if i < 0 || i >= b.cfg.Hosts {
				return fmt.Errorf("bed: there is no host %d among %d", i, b.cfg.Hosts)
			}
		}
		if hosts[c.To] = true; on {
			b.cuts[c] = true
		} else {
			delete(b.cuts, c)
		}
	}
	var all errgroup.Group
	for i := range hosts {
		rules := b.rules(i)
		all.Go(func() error { return run(rules, "ip", "netns", "exec", b.host(i), "nft", "-f", "-") })
	}
	return all.Wait()
}

// rules has host i's rules for incoming packets, as one change for nft.
func (b *Bed) rules(i int) string {
	var all []Cut
	for c := range b.cuts {
		if c.To == i {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(x, y Cut) int { return cmp.Compare(x.From, y.From) })
	var s strings.Builder
	s.WriteString("table inet bed\ndelete table inet bed\ntable inet bed {\n chain in {\n  type filter hook input priority 0;\n")
	for _, c := range all {
		switch from := b.Addr(c.From); {
		case !c.Refuse:
			fmt.Fprintf(&s, "  ip saddr %s drop\n", from)
		default: // a reset gets through: it is the other host's refusal
			fmt.Fprintf(&s, "  ip saddr %s tcp flags & rst == 0 reject with tcp reset\n", from)
			fmt.Fprintf(&s, "  ip saddr %s meta l4proto != tcp reject\n", from)
		}
	}
	s.WriteString(" }\n}\n")
	return s.String()
}
