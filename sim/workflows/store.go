package workflows

import (
	"bytes"
	"errors"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/phalanx-go/phalanx"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	"github.com/phalanx-go/phalanx/protocol/directory"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// store is where the objects of runs are. In the place of the store's own protocols, which package sim has, it has what they
// promise: a read finds an object while some member has a copy, and a member that leaves takes its copies with it. What is small is
// in the directory, and outlives the node that has put it; the target of a reduce may be on any node.
type store struct {
	s   *service
	all map[phalanx.ObjectID]*object
}

type object struct {
	bytes   []byte
	origin  phalanx.NodeID // the incarnation that has put it
	maker   directory.Maker
	inline  bool             // it is in the directory
	on      []phalanx.NodeID // incarnations that have a copy
	deleted bool
}

func newStore(s *service) *store { return &store{s, map[phalanx.ObjectID]*object{}} }

// holders returns the members that have a copy.
func (o *store) holders(id phalanx.ObjectID) (all []*host) {
	if o.all[id] == nil || o.all[id].deleted {
		return nil
	}
	if o.all[id].inline {
		for _, m := range o.s.View().Members {
			if p := o.s.Find(m.ID); p != nil && !p.Dead {
				all = append(all, o.s.hosts[p])
			}
		}
		return all
	}
	for _, n := range o.all[id].on {
		if p := o.s.Find(n); p != nil && !p.Dead && o.s.Member(n) {
			all = append(all, o.s.hosts[p])
		}
	}
	return all
}

var errDeleted = &phalanx.Error{Op: "put", Kind: phalanx.ErrDeleted, Err: errors.New("the object was deleted")}

// put gives a node a copy. An id never has two objects.
func (o *store) put(h *host, id phalanx.ObjectID, b []byte) error {
	switch old := o.all[id]; {
	case old == nil:
		o.all[id] = &object{bytes: b, origin: h.self}
		if o.placed(h, id) {
			return nil
		}
	case old.deleted:
		return errDeleted
	case !bytes.Equal(old.bytes, b):
		o.s.Fail("(7) the object %s is put again with other bytes, on %s", id, h.p.Name())
	}
	o.copied(h, id)
	return nil
}

// placed has some objects in the directory, and some outputs, as the target of a reduce, on another node.
func (o *store) placed(h *host, id phalanx.ObjectID) bool {
	x, sum := o.all[id], fnv.New32a()
	_, _ = sum.Write([]byte(id)) // it never fails
	switch n := int(sum.Sum32() >> 8); {
	case n%5 == 0:
		x.inline = true
	case n%5 == 1 && strings.HasSuffix(string(id), "/"+flow.OutputName):
		live := o.s.Live()
		if len(live) == 0 {
			return false
		}
		other := o.s.hosts[live[n/5%len(live)]]
		if other == h || other.self == "" || !o.s.Member(other.self) {
			return false
		}
		x.origin, x.maker = other.self, directory.ByReduce
		o.copied(other, id)
	default:
		return false
	}
	return true
}

func (o *store) delete(id phalanx.ObjectID) {
	if old := o.all[id]; old != nil {
		old.deleted, old.on = true, nil
	}
}

// origin returns the incarnation that has put an object.
func (o *store) origin(id phalanx.ObjectID) phalanx.NodeID { return o.all[id].origin }

func (o *store) copied(h *host, id phalanx.ObjectID) {
	if on := &o.all[id].on; !slices.Contains(*on, h.self) {
		*on = append(*on, h.self)
	}
}

// moved gives an incarnation the copies of the one before in its process: the store of a node that joins again has them.
func (o *store) moved(from, to phalanx.NodeID) {
	for _, x := range o.all {
		if i := slices.Index(x.on, from); i >= 0 {
			x.on[i] = to
		}
	}
}

// get reads an object, and waits while nodes that have it do not answer.
func (h *host) get(id phalanx.ObjectID, then func(b []byte, gone bool)) {
	life, o := h.life, h.store
	var try func()
	try = func() {
		holders := o.holders(id)
		switch {
		case life != h.life:
		case len(holders) == 0:
			then(nil, true)
		case slices.Contains(holders, h) || h.Well(h.p) && slices.ContainsFunc(holders, func(f *host) bool { return h.Well(f.p) }):
			o.copied(h, id)
			then(o.all[id].bytes, false)
		default:
			h.later(20*ms, try)
		}
	}
	h.later(h.Upto(5*ms), try)
}

// inputs gets the inputs of an attempt that are objects. Those of which only checkpoints are left are put again first.
func (a *attempt) inputs(then func()) {
	o := a.order
	all := slices.Clone(o.Inputs)
	if o.Output != nil {
		all = append(all, *o.Output)
	}
	all = slices.DeleteFunc(all, func(l core.Located) bool { return flow.InputID(o.ID.Run, l) == "" })
	a.bytes = map[phalanx.ObjectID][]byte{}
	for _, l := range all {
		a.h.has.Object(o.ID.Run.String(), flow.InputID(o.ID.Run, l), false)
	}
	a.bring(all, func() {
		if len(a.unsaved) > 0 {
			a.missing = a.unsaved
			then()
			return
		}
		a.read(all, then)
	})
}

// bring has the inputs put again that no node has.
func (a *attempt) bring(left []core.Located, then func()) {
	switch {
	case a.over():
	case len(left) == 0:
		then()
	case len(left[0].Disks) == 0 || len(a.h.store.holders(flow.InputID(a.order.ID.Run, left[0]))) > 0:
		a.bring(left[1:], then)
	default:
		if a.canceled() {
			return
		}
		a.wished = a.h.wish(flow.WishOf(a.order.ID.Run, left[0]), func(g flow.Granted) {
			if g.Gone {
				a.unsaved = append(a.unsaved, flow.BlobOf(a.order.ID.Run, left[0]))
			}
			a.bring(left[1:], then)
		})
	}
}

// read gets the inputs.
func (a *attempt) read(left []core.Located, then func()) {
	switch {
	case a.over():
	case len(left) == 0:
		then()
	default:
		id := flow.InputID(a.order.ID.Run, left[0])
		a.h.get(id, func(b []byte, gone bool) {
			if gone {
				a.missing = append(a.missing, flow.BlobOf(a.order.ID.Run, left[0]))
			} else {
				a.bytes[id] = b
			}
			a.read(left[1:], then)
		})
	}
}

func (a *attempt) over() bool { return a.ended || a.life != a.h.life }
