package sim

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/copies"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// maker is an origin that starts over, as the root of a repaired reduce does: it binds an id, lets
// others read while it makes bytes, takes a new generation with other bytes a few times, and
// finishes.
type maker struct {
	n        *node
	object   phalanx.ObjectID
	call     *call
	buf      *copied // nil before the id is bound
	bytes    []byte
	restarts int
	pace     time.Duration
	begin    uint64 // number of the Begin
	again    bool   // the maker has asked for a new generation
	final    bool   // the maker has asked the owner to make the object final
	left     bool   // the caller has gone
	over     bool
}

func (n *node) make(c *call, bytes []byte, restarts int, pace time.Duration) {
	m := &maker{n: n, object: c.object, call: c, bytes: bytes, restarts: restarts, pace: pace, begin: n.client.numbers()}
	n.makers = append(n.makers, m)
	buf := n.copyFor(copies.Copy{Object: c.object, Origin: true, Meta: metaOf(c.object, len(bytes))})
	if !n.memory.try(buf, int64(len(bytes))) {
		m.finish(errorf(phalanx.ErrNoSpace, c.object, "no room to make it"))
		return
	}
	m.buf = buf
	m.bind(phalanx.Generation{})
}

// bind asks for the id, whose generation after was deleted.
func (m *maker) bind(after phalanx.Generation) {
	n := m.n
	begin := directory.Begin{Meta: phalanx.Meta{Size: phalanx.UnknownSize}, Maker: directory.ByReduce, Tag: string(n.id), After: after}
	n.client.ask(m.begin, m.object, begin, func(_ phalanx.NodeID, r directory.Result) {
		switch {
		case m.over:
			if r.Kind == 0 && r.State == directory.Begun && r.Attached == "" { // bound after all
				n.client.ask(n.client.numbers(), m.object, directory.Abort{Gen: r.Gen}, nil)
			}
		case r.Kind == phalanx.ErrDeleted && !m.left && after.Less(r.Gen):
			m.begin = n.client.numbers()
			m.bind(r.Gen)
		case r.Kind != 0:
			m.finish(errorf(r.Kind, m.object, "%s", r.Text))
		case m.left && r.State == directory.Begun && r.Attached == "":
			n.client.ask(n.client.numbers(), m.object, directory.Abort{Gen: r.Gen}, nil)
			m.finish(nil)
		case r.State != directory.Begun || r.Attached != "":
			m.finish(errorf(phalanx.ErrExists, m.object, "it is %v", r.State))
		default:
			m.show(r.Gen)
		}
	})
}

// show begins to fill generation g with bytes that no other generation has.
func (m *maker) show(g phalanx.Generation) {
	n, old := m.n, m.buf
	m.buf = n.copyFor(copies.Copy{Object: m.object, Gen: g, Origin: true, Meta: old.Meta})
	m.buf.room, old.room = old.room, 0
	if _, ok := n.table.Show(&m.buf.Copy); !ok {
		n.memory.release(m.buf)
		m.buf = nil
		n.client.ask(n.client.numbers(), m.object, directory.Abort{Gen: g}, nil)
		m.finish(errorf(phalanx.ErrAborted, m.object, "this node has a newer generation of it already"))
		return
	}
	m.bytes = slices.Clone(m.bytes)
	for i := range m.bytes {
		m.bytes[i] += byte(g.Seq*7 + g.Epoch)
	}
	n.w.oracle.makes(n, m.object, g, m.bytes)
	n.ownShown(m.object)
	n.after(m.pace, func() { m.fill(g) })
}

func (m *maker) fill(g phalanx.Generation) {
	n := m.n
	if m.over || m.buf.Gen != g || m.again {
		return
	}
	defer n.w.step(n, "made")
	have := len(m.buf.bytes)
	if have > 0 && m.restarts > 0 && n.w.chance(0.3) {
		m.restart(g)
		return
	}
	if have < len(m.bytes) {
		m.buf.bytes = append(m.buf.bytes, m.bytes[have:min(have+int(n.w.shape.piece), len(m.bytes))]...)
		n.pump(m.buf)
		if have == 0 {
			n.client.report(m.object, directory.Announce{Gen: g, Origin: true, Begun: true, Meta: m.buf.Meta}, nil)
		}
		n.after(time.Duration(n.w.rng.Int64N(int64(m.pace)+1)), func() { m.fill(g) })
		return
	}
	m.buf.fill(m.buf.bytes)
	n.pump(m.buf)
	m.final = true
	n.client.ask(n.client.numbers(), m.object, directory.Final{Gen: g, Meta: m.buf.Meta, Digest: m.buf.sum, Held: true}, func(_ phalanx.NodeID, r directory.Result) {
		switch {
		case m.over || m.buf.Gen != g:
		case r.Kind != 0:
			m.finish(errorf(r.Kind, m.object, "%s", r.Text))
		default:
			m.over = true
			n.table.Finish(&m.buf.Copy, m.buf.Meta, m.buf.sum, true)
			m.end(nil)
		}
	})
}

// restart drops the bytes and takes a new generation.
func (m *maker) restart(g phalanx.Generation) {
	n := m.n
	m.restarts--
	n.w.met["restart"]++
	m.again = true
	n.client.ask(n.client.numbers(), m.object, directory.Restart{Gen: g}, func(_ phalanx.NodeID, r directory.Result) {
		switch {
		case m.over || !m.again:
		case m.left && r.Kind == 0:
			n.client.ask(n.client.numbers(), m.object, directory.Abort{Gen: r.Gen}, nil)
			m.finish(nil)
		case r.Kind != 0:
			m.finish(errorf(r.Kind, m.object, "%s", r.Text))
		default:
			m.again = false
			m.show(r.Gen) // readers of the old generation start over
			n.client.report(m.object, directory.Announce{Gen: r.Gen, Origin: true}, nil)
		}
	})
}

func (m *maker) pushed(p directory.Push) {
	if m.over || m.buf == nil || m.buf.Gen.IsZero() {
		return
	}
	switch {
	case p.Order == directory.PushDrop && !p.Gen.Less(m.buf.Gen):
		m.finish(errorf(phalanx.ErrDeleted, m.object, "it was taken away"))
	case p.Order == directory.PushAbort && p.Gen == m.buf.Gen:
		m.finish(errorf(phalanx.ErrAborted, m.object, "it was taken away"))
	}
}

// leave ends the maker when its caller goes away.
func (m *maker) leave(err *phalanx.Error) {
	switch {
	case m.over || m.left:
	case m.final || m.again || m.buf.Gen.IsZero(): // the maker has to know the answer that is on its way
		m.left = true
		m.n.w.end(m.call, err, phalanx.Generation{}, nil)
	default:
		m.n.client.ask(m.n.client.numbers(), m.object, directory.Abort{Gen: m.buf.Gen}, nil)
		m.finish(err)
	}
}

func (m *maker) finish(err *phalanx.Error) {
	m.over = true
	switch {
	case m.buf == nil:
	case m.buf.Gen.IsZero():
		m.n.memory.release(m.buf)
	default:
		m.n.table.Drop(&m.buf.Copy, nil)
	}
	m.end(err)
}

func (m *maker) end(err *phalanx.Error) {
	m.n.makers = slices.DeleteFunc(m.n.makers, func(x *maker) bool { return x == m })
	if m.left {
		return
	}
	if err != nil {
		m.n.w.end(m.call, err, phalanx.Generation{}, nil)
		return
	}
	m.n.w.end(m.call, nil, m.buf.Gen, m.buf.bytes)
}
