package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/phalanx-go/phalanx"
)

// Command is a change of the view that a node asks for. Delivery is at most
// once, so the node repeats it until it is visible; twice is the same as
// once.
type Command interface {
	fmt.Stringer
	command() wireCommand
	// settled reports whether v has the command's effect, or makes it void.
	settled(v View) bool
}

type (
	// AddMember asks to let Member in, if it has what the members have in common. Replaces
	// is the older incarnation of its name whose process is known to be gone, which is
	// removed. While another member has that name the command has no effect.
	AddMember struct {
		Member   Member
		Common   Common
		Replaces phalanx.NodeID `json:",omitempty"`
	}

	// RemoveMember asks to remove Node: it is down, or has handed over. Unless
	// Dead says that its process is known to be gone, the leader first lets
	// Node's lease end. Of another node than the own one it counts only while it
	// is proposed again, at least every Config.SilentAfter.
	//
	// HandedOver is the number of the view as of which others keep Node's copies; 0: it
	// has not handed over. The command is void in a view whose Left is later: a member
	// that Node relied on may be gone.
	RemoveMember struct {
		Node       phalanx.NodeID
		Dead       bool   `json:",omitempty"`
		HandedOver uint64 `json:",omitempty"`
	}

	// Leaving asks to move all shards away from Node, and its vote; Stays takes that
	// back, as Node could not leave.
	Leaving struct {
		Node  phalanx.NodeID
		Stays bool `json:",omitempty"`
	}

	// InSync says of each listed shard that its Next has caught up.
	InSync struct{ Shards []Synced }

	// Drop asks to take Node, the owner or the backup, off Shard. The other of the two
	// asks; or Node itself, in any role, if its replica has lost its state. Drop counts
	// only in Epoch, so that the first of two wins. Without a backup the shard
	// is lost, and rebuilt.
	Drop struct {
		Shard int
		Epoch uint64
		Node  phalanx.NodeID
	}

	// seat has the view name the voters that raft has changed to. Only the leader
	// proposes it, once it has applied the change: so a majority of them knows that
	// they are the voters, and the view promises that any minority of them may die,
	// the leader too.
	seat struct{ Voters []phalanx.NodeID }
)

// Synced says that Node has all of a shard's state in Epoch.
type Synced struct {
	Shard int
	Epoch uint64
	Node  phalanx.NodeID
}

// wireCommand has exactly one field that is not nil.
type wireCommand struct {
	Add    *AddMember    `json:",omitempty"`
	Remove *RemoveMember `json:",omitempty"`
	Leave  *Leaving      `json:",omitempty"`
	Synced *InSync       `json:",omitempty"`
	Drop   *Drop         `json:",omitempty"`
	Seat   *seat         `json:",omitempty"`
}

func (c AddMember) command() wireCommand    { return wireCommand{Add: &c} }
func (c RemoveMember) command() wireCommand { return wireCommand{Remove: &c} }
func (c Leaving) command() wireCommand      { return wireCommand{Leave: &c} }
func (c InSync) command() wireCommand       { return wireCommand{Synced: &c} }
func (c Drop) command() wireCommand         { return wireCommand{Drop: &c} }
func (c seat) command() wireCommand         { return wireCommand{Seat: &c} }

func (c AddMember) settled(v View) bool {
	m, ok := v.Namesake(c.Member.ID)
	return ok && (m.ID == c.Member.ID || younger(m.ID, c.Member.ID))
}

func (c RemoveMember) settled(v View) bool {
	return !v.Has(c.Node) || c.HandedOver != 0 && v.Left > c.HandedOver
}

func (c Leaving) settled(v View) bool {
	m, ok := v.Member(c.Node)
	return !ok || m.Leaving != c.Stays
}

func (c InSync) settled(v View) bool {
	for _, s := range c.Shards {
		if s.counts(v) {
			return false
		}
	}
	return true
}

func (s Synced) counts(v View) bool {
	if s.Shard < 0 || s.Shard >= len(v.Shards) || s.Node == "" {
		return false
	}
	is := v.Shards[s.Shard]
	return is.Epoch == s.Epoch && is.Next == s.Node
}

func (c Drop) settled(v View) bool { return !c.counts(v) }

func (c seat) settled(v View) bool { return slices.Equal(v.living(c.Voters), v.Voters) }

func (c Drop) counts(v View) bool {
	if c.Shard < 0 || c.Shard >= len(v.Shards) {
		return false
	}
	is := v.Shards[c.Shard]
	return is.Epoch == c.Epoch && c.Node != "" && (is.has(c.Node) || is.Next == c.Node)
}

// EncodeCommand returns c as bytes.
func EncodeCommand(c Command) []byte { return encode(c.command()) }

// DecodeCommand is the inverse of EncodeCommand. It fails on bytes that are no
// command.
func DecodeCommand(data []byte) (Command, error) {
	var w wireCommand
	if err := json.Unmarshal(data, &w); err != nil {
		return nil, &phalanx.Error{Op: "view", Kind: phalanx.ErrInvalid, Err: err}
	}
	var found []Command
	if w.Add != nil && w.Add.Member.ID.Name() != "" {
		found = append(found, *w.Add)
	}
	if w.Remove != nil && w.Remove.Node != "" {
		found = append(found, *w.Remove)
	}
	if w.Leave != nil && w.Leave.Node != "" {
		found = append(found, *w.Leave)
	}
	if w.Synced != nil {
		found = append(found, *w.Synced)
	}
	if w.Drop != nil && w.Drop.Node != "" {
		found = append(found, *w.Drop)
	}
	if w.Seat != nil && len(w.Seat.Voters) > 0 {
		found = append(found, *w.Seat)
	}
	if len(found) != 1 {
		return nil, &phalanx.Error{Op: "view", Kind: phalanx.ErrInvalid, Err: errors.New("this is not one command")}
	}
	return found[0], nil
}
