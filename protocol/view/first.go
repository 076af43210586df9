package view

import "github.com/phalanx-go/phalanx"

// First says that a member was the first one with a feature.
type First struct {
	Feature string
	Node    phalanx.NodeID
}

// maxFirsts bounds of how many features a view has the first member. Programs have a few.
const maxFirsts = 64

// First returns the node that was the first member with a feature, or "".
func (v View) First(feature string) phalanx.NodeID {
	for _, f := range v.Firsts {
		if f.Feature == feature {
			return f.Node
		}
	}
	return ""
}

// noteFirsts notes the features that m is the first to have.
func (v *View) noteFirsts(m Member) {
	for _, f := range m.Features {
		if v.First(f) == "" && len(v.Firsts) < maxFirsts {
			v.Firsts = append(v.Firsts, First{f, m.ID})
		}
	}
}
