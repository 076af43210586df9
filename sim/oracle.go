package sim

import (
	"bytes"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/reduce"
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
	bytes   []byte        // the final ones
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
	if m.final {
		return
	}
	m.final, m.gen, m.digest = true, g, d
	for _, b := range append(m.tried, m.made[g]) {
		if digestOf(b) == d {
			m.bytes = b
			return
		}
	}
	o.w.fail("(3) %s@%v is final with %v, which nobody has made", id, g, d)
}

// finalises checks (17): a target becomes final after its sources.
func (o *oracle) finalises(c *coordinator, e reduce.Finalise) {
	for _, id := range e.In {
		if !o.model(id).final {
			o.w.fail("(17) %s becomes final before its source %s", c.target, id)
		}
	}
}

// reduced checks (8): the result is the sum of exactly the sources that it
// names, each once.
func (o *oracle) reduced(c *coordinator, e reduce.Result) {
	if len(e.In) != c.cfg.Num || len(e.In)+len(e.Out) != len(c.cfg.Sources) {
		o.w.fail("(8) %s is made of %v and not of %v", c.target, e.In, e.Out)
	}
	seen := map[phalanx.ObjectID]bool{}
	for _, id := range append(slices.Clone(e.In), e.Out...) {
		if seen[id] || !slices.Contains(c.cfg.Sources, id) {
			o.w.fail("(8) %s is made of %v and not of %v", c.target, e.In, e.Out)
		}
		seen[id] = true
	}
	sum := make([]byte, e.Size)
	for _, id := range e.In {
		m := o.model(id)
		if !m.final || int64(len(m.bytes)) != e.Size {
			o.w.fail("(8, 17) %s is made of %s, which is not final or has another size", c.target, id)
		}
		addTo(sum, m.bytes)
	}
	if digestOf(sum) != e.Digest {
		o.w.fail("(8) %s is not the sum of %v", c.target, e.In)
	}
	if m := o.model(c.target); !m.final || m.digest != e.Digest {
		o.w.fail("(8) %s was reported with %v, it is final with %v", c.target, e.Digest, m.digest)
	}
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
