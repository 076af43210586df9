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

// WasFirst reports whether id is the first member with a feature, or a later incarnation of that. A later one has brought
// the same mark: another feature, that no other node has.
func (v View) WasFirst(id phalanx.NodeID, feature, mark string) bool {
	first := v.First(feature)
	return first != "" && (first == id || first.Name() == id.Name() && v.First(mark) == first)
}

// noteFirsts notes the features that m is the first to have.
func (v *View) noteFirsts(m Member) {
	for _, f := range m.Features {
		if v.First(f) == "" && len(v.Firsts) < maxFirsts {
			v.Firsts = append(v.Firsts, First{f, m.ID})
		}
	}
}
