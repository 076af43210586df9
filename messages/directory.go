package messages

import (
	"math"

	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// Relayed is a message of the directory on its way to a node that its sender
// cannot reach itself.
type Relayed struct {
	From, To phalanx.NodeID
	Message  []byte // of MarshalDirectory
}

// MarshalDirectory returns v, for or from the given shard, as bytes. It takes the values
// that UnmarshalDirectory returns, and directory.SendReplicate and directory.SendConfirm
// in the place of their contents.
func MarshalDirectory(shard int, v any) ([]byte, error) { return AppendDirectory(nil, shard, v) }

// AppendDirectory appends the result of MarshalDirectory to dst. If it fails it returns
// dst as it was.
func AppendDirectory(dst []byte, shard int, v any) ([]byte, error) {
	if shard < 0 || shard > math.MaxInt32 {
		return dst, unsendable("the shard is %d", shard)
	}
	m := &Directory{Shard: uint32(shard)}
	if err := m.set(v); err != nil {
		return dst, err
	}
	b, err := proto.MarshalOptions{}.MarshalAppend(dst, m)
	if err != nil {
		return dst, unsendable("%T: %w", v, err)
	}
	return b, nil
}

// UnmarshalDirectory is the inverse of MarshalDirectory. It returns one of the
// structs of package directory, by value: Request, Reply, Push, PushAcked,
// Readiness, WatchAcked, AskLease, LeaseKnown, Replicate, Confirm, Holdings or
// AckHoldings; or a Relayed. A receiver must check that a To is its own.
func UnmarshalDirectory(b []byte) (shard int, v any, err error) {
	m := &Directory{}
	if err := proto.Unmarshal(b, m); err != nil {
		return 0, nil, broken("directory: %w", err)
	}
	if m.Shard > math.MaxInt32 {
		return 0, nil, broken("shard: the number is %d", m.Shard)
	}
	f := &fields{}
	v = f.directory(m)
	if f.err != nil {
		return 0, nil, f.err
	}
	return int(m.Shard), v, nil
}

func (m *Directory) set(v any) error {
	var node phalanx.NodeID
	var object phalanx.ObjectID
	switch v := v.(type) {
	case directory.Request:
		node, object, m.Num, m.Epoch = v.From, v.Object, v.Num, v.Epoch
		if err := m.setRequest(v.Body); err != nil {
			return err
		}
	case directory.Reply:
		node, object, m.Num, m.Epoch = v.To, v.Object, v.Num, v.Epoch
		m.Body = &Directory_Reply{fromResult(&v.Result)}
	case directory.Push:
		node, object = v.To, v.Object
		m.Body = &Directory_Push{&Push{Seq: v.Seq, Order: PushOrder(v.Order), Gen: fromGen(v.Gen), Meta: fromMeta(v.Meta),
			Digest: fromDigest(v.Digest), Copies: int64(v.Copies)}}
	case directory.PushAcked:
		node, object = v.From, v.Object
		m.Body = &Directory_PushAcked{&PushAcked{Seq: v.Seq}}
	case directory.Readiness:
		node, object, m.Num = v.To, v.Object, v.Num
		m.Body = &Directory_Readiness{fromReadiness(&v)}
	case directory.WatchAcked:
		node, object, m.Num = v.From, v.Object, v.Num
		m.Body = &Directory_WatchAcked{&WatchAcked{Version: v.Version}}
	case directory.AskLease:
		node, object = v.To, v.Object
		m.Body = &Directory_AskLease{&AskLease{Lease: v.Lease, Move: v.Move}}
	case directory.LeaseKnown:
		node, object = v.From, v.Object
		m.Body = &Directory_LeaseKnown{&LeaseKnown{Lease: v.Lease, Known: v.Known}}
	case directory.SendReplicate:
		return m.set(v.Replicate)
	case directory.Replicate:
		node = v.From
		m.Body = &Directory_Replicate{fromReplicate(v)}
	case directory.SendConfirm:
		return m.set(v.Confirm)
	case directory.Confirm:
		node = v.From
		m.Body = &Directory_Confirm{&Confirm{Epoch: v.Epoch, Stream: v.Stream, Seq: v.Seq}}
	case directory.Holdings:
		node = v.From
		m.Body = &Directory_Holdings{fromHoldings(v)}
	case directory.AckHoldings:
		node = v.To
		m.Body = &Directory_AckHoldings{&AckHoldings{Epoch: v.Epoch}}
	case Relayed:
		node = v.To
		m.Body = &Directory_Relay{&Relay{From: string(v.From), Message: v.Message}}
	default:
		return unsendable("a %T is no message of the directory", v)
	}
	m.Node, m.Object = string(node), string(object)
	return nil
}

func (f *fields) directory(m *Directory) any {
	node := f.node("node", m.Node)
	switch b := m.Body.(type) {
	case *Directory_Reply: // to a List it names no object
		return directory.Reply{To: node, Num: m.Num, Object: f.maybeObject("object", m.Object), Epoch: m.Epoch, Result: f.result(b.Reply)}
	case *Directory_Push:
		p := b.Push
		return directory.Push{To: node, Seq: p.GetSeq(), Object: f.object("object", m.Object),
			Order: enum(f, "push.order", p.GetOrder(), directory.PushSpare), Gen: toGen(p.GetGen()),
			Meta: f.meta("push.meta", p.GetMeta()), Digest: f.digest("push.digest", p.GetDigest()),
			Copies: f.count("push.copies", p.GetCopies())}
	case *Directory_PushAcked:
		return directory.PushAcked{From: node, Object: f.object("object", m.Object), Seq: b.PushAcked.GetSeq()}
	case *Directory_Readiness:
		r := f.readiness(b.Readiness)
		r.To, r.Num, r.Object = node, m.Num, f.object("object", m.Object)
		return r
	case *Directory_WatchAcked:
		return directory.WatchAcked{From: node, Num: m.Num, Object: f.object("object", m.Object), Version: b.WatchAcked.GetVersion()}
	case *Directory_AskLease:
		return directory.AskLease{To: node, Object: f.object("object", m.Object), Lease: b.AskLease.GetLease(),
			Move: b.AskLease.GetMove()}
	case *Directory_LeaseKnown:
		return directory.LeaseKnown{From: node, Object: f.object("object", m.Object), Lease: b.LeaseKnown.GetLease(),
			Known: b.LeaseKnown.GetKnown()}
	case *Directory_Replicate:
		r := f.replicate(b.Replicate)
		r.From = node
		return r
	case *Directory_Confirm:
		return directory.Confirm{From: node, Epoch: b.Confirm.GetEpoch(), Stream: b.Confirm.GetStream(), Seq: b.Confirm.GetSeq()}
	case *Directory_Holdings:
		h := f.holdings(b.Holdings)
		h.From = node
		return h
	case *Directory_AckHoldings:
		return directory.AckHoldings{To: node, Epoch: b.AckHoldings.GetEpoch()}
	case *Directory_Relay:
		return Relayed{To: node, From: f.node("relay.from", b.Relay.GetFrom()), Message: b.Relay.GetMessage()}
	}
	r := directory.Request{From: node, Num: m.Num, Object: f.maybeObject("object", m.Object), Epoch: m.Epoch, Body: f.body(m)}
	if _, list := r.Body.(directory.List); r.Object == "" && !list {
		f.missing("object")
	}
	return r
}
