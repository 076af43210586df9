package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/phalanx-go/phalanx"
)

// Member is one incarnation of a node in the cluster.
type Member struct {
	ID       phalanx.NodeID
	Control  string   // host:port of its actor remoting
	Data     string   // host:port of its data plane
	Version  string   // of the program
	Features []string // owned by the view, not to be changed
	Leaving  bool     `json:",omitempty"` // is handing over its shards
}

// Has reports whether the member has a feature.
func (m Member) Has(feature string) bool { return slices.Contains(m.Features, feature) }

// Shard is one row of the shard table.
//
// Invariant: Owner, Backup and Next are different members, or empty.
type Shard struct {
	Epoch  uint64
	Owner  phalanx.NodeID
	Backup phalanx.NodeID `json:",omitempty"` // in sync, or none
	Next   phalanx.NodeID `json:",omitempty"` // copies the state, to become backup or owner
	LostAt uint64         `json:",omitempty"` // the last epoch that began because owner and backup were lost
}

// View is the membership and the shard table at one time. It is immutable: a receiver
// must not change its slices.
type View struct {
	Number  uint64           // see number.go
	Cluster phalanx.NodeID   // the node that booted the cluster; tells it from every other one
	Common  Common           // of all its members
	Members []Member         // in joining order, oldest first
	Voters  []phalanx.NodeID // members, in joining order; raft may still count one that is dead, and count others already
	Shards  []Shard

	// Left is the number of the last view in which a member was removed that had not
	// handed over, a shard was lost, a member stayed that could not leave, or one was added
	// when all others were leaving; 0: none of that has happened. Answers to a leaving member as of
	// an older view do not count any more.
	Left uint64

	// Former has formed the cluster anew: it made the first view of this form; "" in the
	// first. Missing are the members of earlier forms that it did not reach, and in whose
	// name no node has come since.
	Former  phalanx.NodeID `json:",omitempty"`
	Missing []Member       `json:",omitempty"`

	// Restarts counts how often all nodes of the cluster had gone, and a node with a disk of before began
	// it anew (protocol/ledger, Boot). It is the same in all views of one beginning.
	Restarts uint64 `json:",omitempty"`

	// Firsts has, for each feature, the member that was the first with it. It stays there when it is no member
	// any more: what one node has to make for all of the cluster is not made twice.
	Firsts []First `json:",omitempty"`
}

// Common has the properties that all members of a cluster share from the beginning. Nodes that
// differ in it do not understand each other, or are not meant to meet.
type Common struct {
	Name string // of the cluster
	Wire string // the version of the messages between nodes
}

// Admit says why a node that has c cannot become a member where all have has.
func (has Common) Admit(c Common) error {
	switch {
	case c.Name != has.Name:
		return fmt.Errorf("this is cluster %q, and the node is of cluster %q: give both the same --cluster, or the node seeds of its own", has.Name, c.Name)
	case c.Wire != has.Wire:
		return fmt.Errorf("the nodes of this cluster speak version %q to each other, and the node speaks %q: run one release of phalanx on all of them", has.Wire, c.Wire)
	}
	return nil
}

// Member returns the member called id.
func (v View) Member(id phalanx.NodeID) (Member, bool) {
	if i := v.index(id); i >= 0 {
		return v.Members[i], true
	}
	return Member{}, false
}

// IDs returns the members with a feature, and which of them are about to leave. All members have
// the feature "".
func (v View) IDs(feature string) (members, leaving []phalanx.NodeID) {
	members = make([]phalanx.NodeID, 0, len(v.Members))
	for _, m := range v.Members {
		if feature != "" && !m.Has(feature) {
			continue
		}
		members = append(members, m.ID)
		if m.Leaving {
			leaving = append(leaving, m.ID)
		}
	}
	return members, leaving
}

// Has reports whether id is a member.
func (v View) Has(id phalanx.NodeID) bool { return v.index(id) >= 0 }

// Owner returns the shard that object belongs to, and its index. It must not be
// called on the zero View.
func (v View) Owner(object phalanx.ObjectID) (Shard, int) {
	i := object.Shard(len(v.Shards))
	return v.Shards[i], i
}

// Idle reports whether id may leave: it copies nothing, and is owner or backup
// only where no staying member can be. Members that leave at the same time do not
// wait for each other.
func (v View) Idle(id phalanx.NodeID) bool { return v.Held(id) == 0 }

// Held returns how many shards keep id from leaving, as Idle has it.
func (v View) Held(id phalanx.NodeID) (held int) {
	var stay []phalanx.NodeID
	for _, m := range v.Members {
		if m.ID != id && !m.Leaving {
			stay = append(stay, m.ID)
		}
	}
	for _, s := range v.Shards {
		others := len(stay) // the members that could be its backup
		if slices.Contains(stay, s.Owner) {
			others--
		}
		if s.Owner == id && len(stay) > 0 || s.Next == id && len(stay) > 0 || s.Backup == id && others > 0 {
			held++
		}
	}
	return held
}

// deserted reports whether there are members and all of them are leaving.
func (v View) deserted() bool {
	return len(v.Members) > 0 && !slices.ContainsFunc(v.Members, func(m Member) bool { return !m.Leaving })
}

func (v View) index(id phalanx.NodeID) int {
	return slices.IndexFunc(v.Members, func(m Member) bool { return m.ID == id })
}

// Namesake returns the member with the name of id.
func (v View) Namesake(id phalanx.NodeID) (Member, bool) {
	for _, m := range v.Members {
		if m.ID.Name() == id.Name() {
			return m, true
		}
	}
	return Member{}, false
}

// living returns the voters that are still members, or all voters if none
// is.
func (v View) living(voters []phalanx.NodeID) []phalanx.NodeID {
	left := slices.DeleteFunc(slices.Clone(voters), func(id phalanx.NodeID) bool { return !v.Has(id) })
	if len(left) == 0 {
		return voters
	}
	return left
}

// clone returns a view that can be changed without changing v.
func (v View) clone() View {
	v.Members, v.Voters, v.Shards, v.Missing = slices.Clone(v.Members), slices.Clone(v.Voters), slices.Clone(v.Shards), slices.Clone(v.Missing)
	v.Firsts = slices.Clone(v.Firsts)
	return v
}

// valid returns the mistake in a view that came from outside.
func (v View) valid() error {
	switch {
	case v.Cluster == "":
		return errors.New("the view names no cluster")
	case len(v.Shards) == 0:
		return errors.New("the view has no shards")
	case len(v.Voters) == 0:
		return errors.New("the view has no voters")
	case v.Number > maxNumber:
		return fmt.Errorf("no view has the number %d", v.Number)
	case (v.Form() == 0) != (v.Former == "") || len(v.Missing) > maxMissing:
		return fmt.Errorf("the view %s cannot have been formed by %q, with %d missing", Numbered(v.Number), v.Former, len(v.Missing))
	case len(v.Firsts) > maxFirsts:
		return fmt.Errorf("the view has the first members with %d features, more than %d", len(v.Firsts), maxFirsts)
	}
	seen := map[phalanx.NodeID]bool{}
	for _, m := range v.Members {
		if m.ID == "" || seen[m.ID] {
			return fmt.Errorf("the view has no id for a member, or %q twice", m.ID)
		}
		seen[m.ID] = true
	}
	return nil
}

// EncodeView returns v as bytes.
func EncodeView(v View) []byte { return encode(v) }

// DecodeView is the inverse of EncodeView. It fails on bytes that are no view.
func DecodeView(data []byte) (View, error) {
	var v View
	err := json.Unmarshal(data, &v)
	if err == nil {
		err = v.valid()
	}
	if err != nil {
		return View{}, &phalanx.Error{Op: "view", Kind: phalanx.ErrInvalid, Err: err}
	}
	return v, nil
}

// encode is for types of this package, which JSON can always express.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("view: %T: %v", v, err))
	}
	return data
}
