package group

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"github.com/phalanx-go/phalanx"
)

// Limits of a group.
const (
	MaxMembers   = 1 << 16
	MaxNameBytes = 200
	maxBytes     = 4 << 20 // of all nodes and labels: a roster is sent in one message
)

// Member is one of a group: a node, or one of several on it.
type Member struct {
	Node  phalanx.NodeID `json:"node"`
	Label string         `json:"label,omitempty"`
}

// String returns the node, and behind a slash the label if there is one.
func (m Member) String() string {
	if m.Label == "" {
		return string(m.Node)
	}
	return string(m.Node) + "/" + m.Label
}

// Roster is a group's list of members, by rank. It does not change.
type Roster struct {
	members []Member
	nodes   []phalanx.NodeID         // in the order of their lowest ranks
	ranks   map[phalanx.NodeID][]int // of each node
	digest  uint64
	text    int // bytes of nodes and labels
}

// NewRoster returns the roster of members; it fails with a RosterError.
func NewRoster(members []Member) (*Roster, error) {
	r := &Roster{members: slices.Clone(members), ranks: map[phalanx.NodeID][]int{}}
	if n := len(members); n == 0 || n > MaxMembers {
		return nil, &RosterError{Rank: -1, Text: fmt.Sprintf("%d members; 1 to %d are possible", n, MaxMembers)}
	}
	digest := fnv.New64a()
	seen, bytes := make(map[Member]int, len(members)), 0
	for rank, m := range members {
		if first, ok := seen[m]; ok {
			return nil, &RosterError{Rank: rank, Text: fmt.Sprintf("%s is rank %d already; give members on one node labels", m, first)}
		}
		if m.Node == "" {
			return nil, &RosterError{Rank: rank, Text: "it has no node"}
		}
		if err := validText(m.Label, MaxNameBytes); err != "" {
			return nil, &RosterError{Rank: rank, Text: "its label " + err}
		}
		if bytes += len(m.Node) + len(m.Label) + 8; bytes > maxBytes {
			return nil, &RosterError{Rank: rank, Text: fmt.Sprintf("the nodes and labels up to this member have %d bytes, at most %d are allowed", bytes, maxBytes)}
		}
		seen[m] = rank
		if r.ranks[m.Node] == nil {
			r.nodes = append(r.nodes, m.Node)
		}
		r.ranks[m.Node] = append(r.ranks[m.Node], rank)
		fmt.Fprintf(digest, "%s\x00%s\x01", m.Node, m.Label)
	}
	r.digest, r.text = digest.Sum64(), bytes
	return r, nil
}

// RosterError names the mistake in a list of members, or in a rank.
type RosterError struct {
	Rank int // -1: it is about none
	Text string
}

func (e *RosterError) Error() string {
	if e.Rank < 0 {
		return e.Text
	}
	return fmt.Sprintf("rank %d: %s", e.Rank, e.Text)
}

// Len returns how many members there are.
func (r *Roster) Len() int { return len(r.members) }

// Members returns the members by rank. It must not be changed.
func (r *Roster) Members() []Member { return r.members }

// RanksOn returns the ranks of the members on a node.
func (r *Roster) RanksOn(node phalanx.NodeID) []int { return r.ranks[node] }

// Names returns the members of ranks, as text.
func (r *Roster) Names(ranks []int) []string {
	all := make([]string, len(ranks))
	for i, rank := range ranks {
		all[i] = r.members[rank].String()
	}
	return all
}

// ValidName returns the mistake in the name of a group that is formed, or "".
func ValidName(name string) string {
	switch {
	case name == "":
		return "is empty"
	case strings.Contains(name, mark):
		return "has a " + mark + ", which names of groups that came of others have"
	}
	return validText(name, MaxNameBytes)
}

func validText(s string, most int) string {
	if len(s) > most {
		return fmt.Sprintf("has %d bytes, at most %d are allowed", len(s), most)
	}
	for i, r := range s {
		if r == '\uFFFD' || !strconv.IsPrint(r) {
			return fmt.Sprintf("has the unprintable character %U at byte %d", r, i)
		}
	}
	return ""
}

// mark is in the names of groups that came of others.
const mark = "~"

// childName returns the name of the group that comes of agreement seq of a group: the
// first one's name, its generation, and a unique part.
func childName(parent string, life, seq uint64) string {
	root, rest, _ := strings.Cut(parent, mark)
	number, _, _ := strings.Cut(rest, "-")
	generation, _ := strconv.Atoi(number) // 0 if it came of no other
	digest := fnv.New64a()
	fmt.Fprint(digest, parent, mark, life, mark, seq)
	return fmt.Sprintf("%s%s%d-%016x", root, mark, generation+1, digest.Sum64())
}
