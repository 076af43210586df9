package messages

import "github.com/phalanx-go/phalanx"

// Look is what a node sees of an object: how many checked bytes it holds, and
// the places of the reduce that makes it, if it coordinates that.
type Look struct {
	Held   int64
	Places []LookPlace
}

// LookPlace is a position of a reduce tree.
type LookPlace struct {
	Place, Parent int // positions; the root's parent is -1
	Node          phalanx.NodeID
	Source        phalanx.ObjectID
}

// LookFromProto returns which object a LookRequest is about.
func LookFromProto(m *LookRequest) (phalanx.ObjectID, error) {
	f := &fields{}
	id := f.object("look.object", m.GetObject())
	return id, f.err
}

// LookReplyToProto returns l as a message.
func LookReplyToProto(l Look) *LookReply {
	m := &LookReply{Held: l.Held}
	for _, p := range l.Places {
		m.Places = append(m.Places, &PlaceSeen{Place: uint32(p.Place), Parent: int32(p.Parent), Node: string(p.Node), Source: string(p.Source)})
	}
	return m
}

// LookReplyFromProto is the inverse of LookReplyToProto.
func LookReplyFromProto(m *LookReply) (Look, error) {
	f := &fields{}
	l := Look{Held: m.GetHeld()}
	for _, p := range m.GetPlaces() {
		l.Places = append(l.Places, LookPlace{Place: int(p.GetPlace()), Parent: int(p.GetParent()), Node: f.node("look.node", p.GetNode()),
			Source: f.object("look.source", p.GetSource())})
	}
	return l, f.err
}
