package messages

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// Look is a node's report on an object: how many checked bytes it holds; how
// far the places that it runs have come; and, if it coordinates the reduce that
// makes the object, the tree of that.
type Look struct {
	Held    int64
	Outputs []LookOutput
	Places  []LookPlace
	Degree  int   // of Places
	Size    int64 // of the target; phalanx.UnknownSize before the first source
	Hidden  int   // how many more Places there are: at most MaxLook are told
}

// A reply tells so many places and outputs, which one message has room for.
const (
	MaxLook        = 10_000
	maxLookOutputs = 50_000
)

// LookOutput is how many bytes of its output a place has made.
type LookOutput struct {
	Place int
	Gen   reduce.PlaceGen
	Made  int64
}

// LookPlace is a position of a reduce tree.
type LookPlace struct {
	Place, Parent int // positions; the root's parent is -1
	Node          phalanx.NodeID
	Source        phalanx.ObjectID
	Gen           reduce.PlaceGen
	Empty         bool // no node runs it now
}

// LookFromProto returns which object a LookRequest is about.
func LookFromProto(m *LookRequest) (phalanx.ObjectID, error) {
	f := &fields{}
	id := f.object("look.object", m.GetObject())
	return id, f.err
}

// LookReplyToProto returns l as a message.
func LookReplyToProto(l Look) *LookReply {
	m := &LookReply{Held: l.Held, Degree: uint32(l.Degree), Size: l.Size}
	for _, o := range l.Outputs[:min(len(l.Outputs), maxLookOutputs)] {
		m.Outputs = append(m.Outputs, &OutputSeen{Place: uint32(o.Place), Gen: fromPlaceGen(o.Gen), Made: o.Made})
	}
	shown := min(len(l.Places), MaxLook)
	m.Hidden = int64(l.Hidden + len(l.Places) - shown)
	for _, p := range l.Places[:shown] {
		m.Places = append(m.Places, &PlaceSeen{Place: uint32(p.Place), Parent: int32(p.Parent), Node: string(p.Node), Source: string(p.Source),
			Gen: fromPlaceGen(p.Gen), Empty: p.Empty})
	}
	return m
}

// LookReplyFromProto is the inverse of LookReplyToProto.
func LookReplyFromProto(m *LookReply) (Look, error) {
	f := &fields{}
	l := Look{Held: m.GetHeld(), Degree: int(m.GetDegree()), Size: m.GetSize(), Hidden: f.count("look.hidden", m.GetHidden())}
	for _, o := range m.GetOutputs() {
		l.Outputs = append(l.Outputs, LookOutput{Place: f.index("look.place", o.GetPlace()), Gen: toPlaceGen(o.GetGen()), Made: o.GetMade()})
	}
	for _, p := range m.GetPlaces() {
		l.Places = append(l.Places, LookPlace{Place: f.index("look.place", p.GetPlace()), Parent: int(p.GetParent()), Node: f.node("look.node", p.GetNode()),
			Source: f.object("look.source", p.GetSource()), Gen: toPlaceGen(p.GetGen()), Empty: p.GetEmpty()})
	}
	return l, f.err
}
