package sim

import (
	"bytes"
	"time"

	"github.com/phalanx-go/phalanx"
)

// oracle is a dumb model of what was put. Ids live once in a run: tombstones
// last longer than it.
type oracle struct {
	w       *world
	objects map[phalanx.ObjectID]*model
}

// model is what is known of one id.
type model struct {
	made    map[phalanx.Generation][]byte // what its origin makes of a generation
	tried   [][]byte                      // all bytes that somebody wants to put
	final   bool                          // some owner has said so
	gen     phalanx.Generation
	digest  phalanx.Digest
	puts    int           // that ended well
	began   bool          // a Delete began
	deleted time.Duration // when the first Delete ended well; 0: none did
	gone    time.Duration // when all holders had acknowledged it
}

func (o *oracle) model(id phalanx.ObjectID) *model {
	m := o.objects[id]
	if m == nil {
		m = &model{made: map[phalanx.Generation][]byte{}}
		o.objects[id] = m
	}
	return m
}

// makes notes what a generation is made of: that never changes.
func (o *oracle) makes(n *node, id phalanx.ObjectID, g phalanx.Generation, b []byte) {
	m := o.model(id)
	if old, ok := m.made[g]; ok && !bytes.Equal(old, b) {
		o.w.fail("(2) %s makes %s@%v of other bytes", n.id, id, g)
	}
	m.made[g] = b
}

// finished notes that an owner calls a generation final.
func (o *oracle) finished(id phalanx.ObjectID, g phalanx.Generation, d phalanx.Digest) {
	m := o.model(id)
	if m.final && (m.gen != g || m.digest != d) {
		o.w.fail("(2) %s is final as %v with %v, and was as %v with %v", id, g, d, m.gen, m.digest)
	}
	if made, ok := m.made[g]; ok && digestOf(made) != d {
		o.w.fail("(3) %s@%v is final with %v, its origin made %v", id, g, d, digestOf(made))
	}
	m.final, m.gen, m.digest = true, g, d
}

// ended checks the outcome of a call.
func (o *oracle) ended(c *call) {
	m := o.model(c.object)
	if c.err != nil {
		if c.err.Kind == phalanx.ErrInternal || c.err.Kind == phalanx.ErrCorrupt {
			o.w.fail("%s of %s at %s ended in %v", c.kind, c.object, c.node.id, c.err)
		}
		return
	}
	switch c.kind {
	case "put", "make", "get":
		if !m.final || digestOf(c.bytes) != m.digest {
			o.w.fail("(1) %s of %s at %s ended with bytes of %v that are not the final ones", c.kind, c.object, c.node.id, c.gen)
		}
		if m.gone != 0 && m.gone < c.began || m.deleted != 0 && m.deleted < c.began && c.kind != "get" {
			o.w.fail("(12) %s of %s at %s began after it was deleted everywhere and ended well", c.kind, c.object, c.node.id)
		}
	case "delete":
		if m.deleted == 0 {
			m.deleted = o.w.now
		}
	}
	if c.kind == "put" || c.kind == "make" {
		m.puts++
	}
}
