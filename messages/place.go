package messages

import (
	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// OrderToProto returns the order of a Reduce's coordinator to a place, or to the store
// of its node, and the receiver. The effect is a reduce.Command, Stop, AskDelivered,
// AskRuns or Inspect. It returns no order for other effects. Coordinator is the node
// where that runs.
func OrderToProto(coordinator phalanx.NodeID, e reduce.Effect) (to phalanx.NodeID, m *PlaceOrder) {
	m = &PlaceOrder{Coordinator: string(coordinator)}
	var target phalanx.ObjectID
	var name phalanx.Generation
	switch e := e.(type) {
	case reduce.Command:
		to, target, name = e.Node, e.State.Target, e.State.Reduce
		m.Body = &PlaceOrder_Command{fromState(&e.State)}
	case reduce.Stop:
		to, target, name = e.Node, e.Target, e.Reduce
		m.Body = &PlaceOrder_Stop{&StopPlace{Attempt: e.Attempt, Place: uint32(e.Place), Gen: fromPlaceGen(e.Gen), Final: e.Final, TargetGen: fromGen(e.TargetGen)}}
	case reduce.AskDelivered:
		to, target, name = e.Node, e.Target, e.Reduce
		m.Body = &PlaceOrder_AskDelivered{&AskDelivered{Parent: uint32(e.Parent), ParentGen: fromPlaceGen(e.ParentGen),
			Child: uint32(e.Child), ChildGen: fromPlaceGen(e.ChildGen)}}
	case reduce.AskRuns:
		to, target, name = e.Node, e.Target, e.Reduce
		m.Body = &PlaceOrder_AskRuns{&AskRuns{Place: uint32(e.Place), Gen: fromPlaceGen(e.Gen)}}
	case reduce.Inspect:
		to, target, name = e.Node, e.Target, e.Reduce
		m.Body = &PlaceOrder_Inspect{&InspectPlaces{Attempt: e.Attempt, From: uint32(e.From)}}
	default:
		return "", nil
	}
	m.Node, m.Target, m.Reduce = string(to), string(target), fromGen(name)
	return to, m
}

// OrderFromProto is the inverse of OrderToProto. The receiver of the effect must check
// that its Node is its own.
func OrderFromProto(m *PlaceOrder) (coordinator phalanx.NodeID, e reduce.Effect, err error) {
	f := &fields{}
	coordinator, e = f.node("order.coordinator", m.GetCoordinator()), f.order(m)
	if f.err != nil {
		return "", nil, f.err
	}
	return coordinator, e, nil
}

func (f *fields) order(m *PlaceOrder) reduce.Effect {
	node, target, name := f.node("order.node", m.GetNode()), f.object("order.target", m.GetTarget()), toGen(m.GetReduce())
	switch b := m.GetBody().(type) {
	case *PlaceOrder_Command:
		return reduce.Command{Node: node, State: f.state(target, name, b.Command)}
	case *PlaceOrder_Stop:
		return reduce.Stop{Node: node, Target: target, Reduce: name, Attempt: b.Stop.GetAttempt(),
			Place: f.index("stop.place", b.Stop.GetPlace()), Gen: toPlaceGen(b.Stop.GetGen()), Final: b.Stop.GetFinal(), TargetGen: toGen(b.Stop.GetTargetGen())}
	case *PlaceOrder_AskRuns:
		return reduce.AskRuns{Node: node, Target: target, Reduce: name, Place: f.index("ask_runs.place", b.AskRuns.GetPlace()), Gen: toPlaceGen(b.AskRuns.GetGen())}
	case *PlaceOrder_AskDelivered:
		a := b.AskDelivered
		return reduce.AskDelivered{Node: node, Target: target, Reduce: name,
			Parent: f.index("ask_delivered.parent", a.GetParent()), ParentGen: toPlaceGen(a.GetParentGen()),
			Child: f.index("ask_delivered.child", a.GetChild()), ChildGen: toPlaceGen(a.GetChildGen())}
	case *PlaceOrder_Inspect:
		return reduce.Inspect{Node: node, Target: target, Reduce: name, Attempt: b.Inspect.GetAttempt(),
			From: f.index("inspect.from", b.Inspect.GetFrom())}
	}
	f.missing("order.body")
	return nil
}

func fromPlaceGen(g reduce.PlaceGen) *PlaceGen {
	if g.IsZero() {
		return nil
	}
	return &PlaceGen{Attempt: g.Attempt, Seq: g.Seq}
}

func toPlaceGen(g *PlaceGen) reduce.PlaceGen {
	return reduce.PlaceGen{Attempt: g.GetAttempt(), Seq: g.GetSeq()}
}

func fromState(s *reduce.State) *PlaceState {
	m := &PlaceState{TargetGen: fromGen(s.TargetGen), Attempt: s.Attempt, Version: s.Version, Place: uint32(s.Place),
		Gen: fromPlaceGen(s.Gen), Source: string(s.Source), SourceGen: fromGen(s.SourceGen), Op: string(s.Op),
		Meta: fromMeta(s.Meta), Root: s.Root, Ring: uint32(s.Ring)}
	if s.Parent != (reduce.Peer{}) {
		m.Parent = &PlacePeer{Place: uint32(s.Parent.Place), Node: string(s.Parent.Node), Gen: fromPlaceGen(s.Parent.Gen)}
	}
	for _, c := range s.Children {
		m.Children = append(m.Children, &PlaceChild{Order: uint32(c.Order), Place: uint32(c.Place), Node: string(c.Node),
			Gen: fromPlaceGen(c.Gen), Source: string(c.Source), SourceGen: fromGen(c.SourceGen)})
	}
	return m
}

func (f *fields) state(target phalanx.ObjectID, name phalanx.Generation, m *PlaceState) reduce.State {
	s := reduce.State{Target: target, Reduce: name, TargetGen: toGen(m.GetTargetGen()), Attempt: m.GetAttempt(),
		Version: m.GetVersion(), Place: f.index("state.place", m.GetPlace()), Gen: toPlaceGen(m.GetGen()),
		Source: f.object("state.source", m.GetSource()), SourceGen: toGen(m.GetSourceGen()),
		Op: phalanx.Op(f.object("state.op", m.GetOp())), Meta: f.meta("state.meta", m.GetMeta()), Root: m.GetRoot(),
		Ring: f.index("state.ring", m.GetRing())}
	if p := m.GetParent(); p != nil {
		s.Parent = reduce.Peer{Place: f.index("parent.place", p.GetPlace()), Node: f.maybeNode("parent.node", p.GetNode()),
			Gen: toPlaceGen(p.GetGen())}
	}
	for _, c := range m.GetChildren() {
		s.Children = append(s.Children, reduce.Child{Order: f.index("child.order", c.GetOrder()),
			Place: f.index("child.place", c.GetPlace()), Node: f.maybeNode("child.node", c.GetNode()),
			Gen: toPlaceGen(c.GetGen()), Source: f.maybeObject("child.source", c.GetSource()),
			SourceGen: toGen(c.GetSourceGen())})
	}
	return s
}
