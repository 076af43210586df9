package messages

import (
	"fmt"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// Report is a report of a place, or the store of its node, to the coordinator of a
// Reduce.
type Report struct {
	Target phalanx.ObjectID
	Reduce phalanx.Generation
	Node   phalanx.NodeID // the reporting node
	Event  reduce.Event   // an event that reduce.Report can carry, or reduce.Inspected or reduce.Joined
}

// ReportToProto returns r as a message. It panics on an event that no place
// reports. An event that has a Node gets the Node of r on the other side.
func ReportToProto(r Report) *PlaceReport {
	m := &PlaceReport{Target: string(r.Target), Reduce: fromGen(r.Reduce), Node: string(r.Node)}
	switch e := r.Event.(type) {
	case reduce.Acked:
		m.Body = &PlaceReport_Acked{&PlaceAcked{Place: uint32(e.Place), Attempt: e.Attempt, Version: e.Version}}
	case reduce.Refused:
		m.Body = &PlaceReport_Refused{&PlaceRefused{Place: uint32(e.Place), Attempt: e.Attempt, Version: e.Version,
			Kind: Kind(e.Kind), Text: fromText(e.Text)}}
	case reduce.Stopped:
		m.Body = &PlaceReport_Stopped{&PlaceStopped{Place: uint32(e.Place), Gen: fromPlaceGen(e.Gen)}}
	case reduce.Delivered:
		m.Body = &PlaceReport_Delivered{fromDelivered(e)}
	case reduce.NotDelivered:
		m.Body = &PlaceReport_NotDelivered{&PlaceNotDelivered{Parent: uint32(e.Parent), ParentGen: fromPlaceGen(e.ParentGen),
			Child: uint32(e.Child), ChildGen: fromPlaceGen(e.ChildGen)}}
	case reduce.Stalled:
		m.Body = &PlaceReport_Stalled{&PlaceStalled{Place: uint32(e.Place), Gen: fromPlaceGen(e.Gen)}}
	case reduce.Waiting:
		m.Body = &PlaceReport_Waiting{&PlaceWaiting{Place: uint32(e.Place), Gen: fromPlaceGen(e.Gen), Text: fromText(e.Text)}}
	case reduce.Combining:
		m.Body = &PlaceReport_Combining{&PlaceCombining{Place: uint32(e.Place), Gen: fromPlaceGen(e.Gen), Text: fromText(e.Text)}}
	case reduce.CombineFailed:
		m.Body = &PlaceReport_CombineFailed{&CombineFailed{Place: uint32(e.Place), Gen: fromPlaceGen(e.Gen), Source: string(e.Source),
			Kind: Kind(e.Kind), Text: fromText(e.Text)}}
	case reduce.Moving:
		m.Body = &PlaceReport_Moving{&PlaceMoving{Place: uint32(e.Place), Gen: fromPlaceGen(e.Gen)}}
	case reduce.RootDone:
		m.Body = &PlaceReport_RootDone{&RootDone{Place: uint32(e.Place), Gen: fromPlaceGen(e.Gen),
			TargetGen: fromGen(e.TargetGen), Size: e.Size, Digest: fromDigest(e.Digest)}}
	case reduce.PlaceLost:
		m.Body = &PlaceReport_Lost{&PlaceLost{Place: uint32(e.Place), Gen: fromPlaceGen(e.Gen),
			Reason: LossReason(e.Reason), Text: fromText(e.Text)}}
	case reduce.Joined:
		j := &ReduceJoined{}
		for _, r := range e.Has {
			j.Has = append(j.Has, &HeldSource{Source: string(r.Source), Gen: fromGen(r.Gen), Meta: fromMeta(r.Meta)})
		}
		m.Body = &PlaceReport_Joined{j}
	case reduce.Inspected:
		in := &PlacesInspected{Attempt: e.Attempt, From: uint32(e.From), Next: uint32(e.Next)}
		for i := range e.Places {
			in.Places = append(in.Places, fromHeld(&e.Places[i]))
		}
		m.Body = &PlaceReport_Inspected{in}
	default:
		panic(fmt.Sprintf("messages: no place reports a %T", r.Event))
	}
	return m
}

// ReportFromProto is the inverse of ReportToProto.
func ReportFromProto(m *PlaceReport) (Report, error) {
	f := &fields{}
	r := Report{Target: f.object("report.target", m.GetTarget()), Reduce: toGen(m.GetReduce()),
		Node: f.node("report.node", m.GetNode())}
	r.Event = f.event(r, m)
	if f.err != nil {
		return Report{}, f.err
	}
	return r, nil
}

func (f *fields) event(r Report, m *PlaceReport) reduce.Event {
	switch b := m.GetBody().(type) {
	case *PlaceReport_Acked:
		return reduce.Acked{Place: f.index("acked.place", b.Acked.GetPlace()), Node: r.Node, Attempt: b.Acked.GetAttempt(),
			Version: b.Acked.GetVersion()}
	case *PlaceReport_Refused:
		return reduce.Refused{Place: f.index("refused.place", b.Refused.GetPlace()), Node: r.Node, Attempt: b.Refused.GetAttempt(),
			Version: b.Refused.GetVersion(), Kind: f.kind("refused.kind", b.Refused.GetKind()), Text: b.Refused.GetText()}
	case *PlaceReport_Stopped:
		return reduce.Stopped{Place: f.index("stopped.place", b.Stopped.GetPlace()), Node: r.Node, Gen: toPlaceGen(b.Stopped.GetGen())}
	case *PlaceReport_Delivered:
		return f.delivered(b.Delivered)
	case *PlaceReport_NotDelivered:
		d := b.NotDelivered
		return reduce.NotDelivered{Parent: f.index("not_delivered.parent", d.GetParent()), ParentGen: toPlaceGen(d.GetParentGen()),
			Child: f.index("not_delivered.child", d.GetChild()), ChildGen: toPlaceGen(d.GetChildGen())}
	case *PlaceReport_Stalled:
		return reduce.Stalled{Place: f.index("stalled.place", b.Stalled.GetPlace()), Gen: toPlaceGen(b.Stalled.GetGen())}
	case *PlaceReport_Waiting:
		return reduce.Waiting{Place: f.index("waiting.place", b.Waiting.GetPlace()), Gen: toPlaceGen(b.Waiting.GetGen()), Text: b.Waiting.GetText()}
	case *PlaceReport_Combining:
		return reduce.Combining{Place: f.index("combining.place", b.Combining.GetPlace()), Gen: toPlaceGen(b.Combining.GetGen()), Text: b.Combining.GetText()}
	case *PlaceReport_CombineFailed:
		c := b.CombineFailed
		return reduce.CombineFailed{Place: f.index("combine_failed.place", c.GetPlace()), Gen: toPlaceGen(c.GetGen()),
			Source: f.object("combine_failed.source", c.GetSource()), Kind: f.kind("combine_failed.kind", c.GetKind()), Text: c.GetText()}
	case *PlaceReport_Moving:
		return reduce.Moving{Place: f.index("moving.place", b.Moving.GetPlace()), Gen: toPlaceGen(b.Moving.GetGen())}
	case *PlaceReport_RootDone:
		return f.rootDone(b.RootDone)
	case *PlaceReport_Lost:
		return reduce.PlaceLost{Place: f.index("lost.place", b.Lost.GetPlace()), Gen: toPlaceGen(b.Lost.GetGen()),
			Reason: enum(f, "lost.reason", b.Lost.GetReason(), reduce.LostUnheld), Text: b.Lost.GetText()}
	case *PlaceReport_Joined:
		j := reduce.Joined{Node: r.Node}
		for _, h := range b.Joined.GetHas() {
			j.Has = append(j.Has, reduce.Ready{Source: f.object("joined.source", h.GetSource()), Node: r.Node, Gen: toGen(h.GetGen()),
				Meta: f.meta("joined.meta", h.GetMeta()), Kind: reduce.Complete, Final: true})
		}
		return j
	case *PlaceReport_Inspected:
		in := reduce.Inspected{Node: r.Node, Attempt: b.Inspected.GetAttempt(), From: f.index("inspected.from", b.Inspected.GetFrom()),
			Next: f.index("inspected.next", b.Inspected.GetNext())}
		for _, p := range b.Inspected.GetPlaces() {
			in.Places = append(in.Places, f.held(r, p))
		}
		return in
	}
	f.missing("report.body")
	return nil
}

func (f *fields) rootDone(m *RootDone) reduce.RootDone {
	if m.GetSize() < 0 {
		f.bad("root_done.size", "the size is %d", m.GetSize())
	}
	return reduce.RootDone{Place: f.index("root_done.place", m.GetPlace()), Gen: toPlaceGen(m.GetGen()),
		TargetGen: toGen(m.GetTargetGen()), Size: m.GetSize(), Digest: f.digest("root_done.digest", m.GetDigest())}
}

func fromDelivered(d reduce.Delivered) *PlaceDelivered {
	return &PlaceDelivered{Parent: uint32(d.Parent), ParentGen: fromPlaceGen(d.ParentGen), Child: uint32(d.Child),
		ChildGen: fromPlaceGen(d.ChildGen), Kept: d.Kept}
}

func (f *fields) delivered(m *PlaceDelivered) reduce.Delivered {
	return reduce.Delivered{Parent: f.index("delivered.parent", m.GetParent()), ParentGen: toPlaceGen(m.GetParentGen()),
		Child: f.index("delivered.child", m.GetChild()), ChildGen: toPlaceGen(m.GetChildGen()), Kept: m.GetKept()}
}

func fromHeld(h *reduce.Held) *HeldPlace {
	m := &HeldPlace{State: fromState(&h.State)}
	for _, d := range h.Delivered {
		m.Delivered = append(m.Delivered, fromDelivered(d))
	}
	return m
}

func (f *fields) held(r Report, m *HeldPlace) reduce.Held {
	h := reduce.Held{State: f.state(r.Target, r.Reduce, m.GetState())}
	for _, d := range m.GetDelivered() {
		h.Delivered = append(h.Delivered, f.delivered(d))
	}
	return h
}
