package sim

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

// oracle is a dumb model of the objects. Its tombstones last longer than a run.
type oracle struct {
	w       *world
	objects map[phalanx.ObjectID]*model
}

// model is the oracle's knowledge of one id.
type model struct {
	made   map[phalanx.Generation][]byte // the bytes of each generation, as its origin makes them
	tried  [][]byte                      // all bytes that a caller wants to put
	finals map[phalanx.Generation]*final // every generation that became final

	state    directory.State // the durable state that an owner last showed; never Lost
	gen      phalanx.Generation
	inline   bool
	copies   int                // a Put that promised so many has returned
	survives phalanx.Generation // final when the shard was lost, and a member had a copy
	deletes  int                // Deletes that have begun and not ended well
	deleter  time.Duration      // when the last Delete ended well; 0: none did
	ceased   time.Duration      // when the object was last deleted while bound, or released; 0: never
	ever     bool               // a Delete has begun
	revived  bool               // a Delete had begun before the shard was lost: nodes that heard of it take the object for deleted
	tomb                        // while the object is deleted
	past     tomb               // before the object was last put again
}

// tomb is a generation that was deleted.
type tomb struct {
	of      phalanx.Generation
	deleted time.Duration // when the first Delete ended well; 0: none did
	gone    time.Duration // when all holders had acknowledged it
}

// before reports whether every holder had dropped g before t or, with told, whether a Delete had
// ended well before t.
func (t tomb) before(at time.Duration, g phalanx.Generation, told bool) bool {
	over := t.gone
	if told {
		over = t.deleted
	}
	return over != 0 && over < at && !t.of.Less(g)
}

// deleting reports whether the object is, or may be, deleted now.
func (m *model) deleting() bool { return m.deletes > 0 || m.state == directory.Deleted }

// explains reports whether c may have found the object deleted. A call that makes the object, or
// reads it to make another, hears only of a Delete that ends after the call began: an object that
// was deleted earlier can be put again.
func (m *model) explains(c *call) bool {
	switch {
	case m.deletes > 0 || m.revived || m.deleter != 0 && m.deleter >= c.began:
		return true
	case c.kind == "get" || c.kind == "copy":
		return m.state == directory.Deleted || m.ceased != 0 && m.ceased >= c.began
	}
	return false
}

// final is a generation that became final.
type final struct {
	digest phalanx.Digest
	bytes  []byte
	over   time.Duration // when another generation followed; 0: none did
}

func (o *oracle) model(id phalanx.ObjectID) *model {
	m := o.objects[id]
	if m == nil {
		m = &model{made: map[phalanx.Generation][]byte{}, finals: map[phalanx.Generation]*final{}}
		o.objects[id] = m
	}
	return m
}

// final reports whether the present generation is final.
func (m *model) final() bool { return m.state == directory.Finished }

// replacedSince reports whether a generation was replaced at t or later after it was final.
func (m *model) replacedSince(t time.Duration) bool {
	for _, f := range m.finals {
		if f.over != 0 && f.over >= t {
			return true
		}
	}
	return false
}

// available reports whether the final bytes of id are in the cluster.
func (o *oracle) available(id phalanx.ObjectID) bool {
	m := o.model(id)
	if !m.final() {
		return false
	}
	if m.inline {
		return true
	}
	for _, n := range o.w.alive() {
		if n.has(id, m.gen) && n.of(id).flipped == 0 && n.member {
			return true
		}
	}
	return false
}

// makes notes the bytes of a generation: they never change.
func (o *oracle) makes(n *node, id phalanx.ObjectID, g phalanx.Generation, b []byte) {
	m := o.model(id)
	if old, ok := m.made[g]; ok && !bytes.Equal(old, b) {
		o.w.fail("(2) %s makes %s@%v of other bytes", n.id, id, g)
	}
	m.made[g] = b
}

// shows notes the record of id that an owner shows.
func (o *oracle) shows(n *node, id phalanx.ObjectID, rec directory.Record) {
	m, state := o.model(id), rec.State
	if state == directory.Deleted && !rec.Released.IsZero() { // its tombstone only stops late messages
		if state = directory.Unbound; m.state == directory.Begun {
			o.w.met["put again after a delete, and released"]++
		}
	}
	if m.state == directory.Finished && rec.Gen != m.gen {
		if f := m.finals[m.gen]; f != nil && f.over == 0 {
			f.over = o.w.now
		}
	}
	if rec.Gen != m.gen {
		m.copies = 0 // those copies had other bytes
	}
	if rec.State == directory.Finished {
		o.finished(id, rec.Gen, rec.Digest)
		o.returns(m, id, rec.Gen)
	}
	switch deleted := state == directory.Deleted; {
	case deleted && m.state == directory.Finished && m.deletes == 0 && !m.revived:
		o.w.fail("(12) %s has %s@%v as deleted, and no caller deletes it", n.id, id, rec.Gen)
	case deleted:
		m.of = rec.Gen
	case m.state == directory.Deleted && (state != directory.Unbound || !rec.Released.IsZero()): // bound meanwhile, shown or not
		m.ceased = o.w.now
		o.w.met["put again after a delete"]++
		m.past, m.tomb = m.tomb, tomb{}
	}
	m.state, m.gen, m.inline = state, rec.Gen, rec.Inline
}

// returns notes that an owner shows a final generation again after a later one took its place. That
// is right where the owner had lost the shard and knew of no copy: the later generation was given
// up before it was final, and a node came back with a copy.
func (o *oracle) returns(m *model, id phalanx.ObjectID, g phalanx.Generation) {
	f := m.finals[g]
	if f == nil || f.over == 0 || o.w.audit.table[id.Shard(o.w.shape.shards)].LostAt == 0 {
		return
	}
	for later := range m.finals {
		if later.Compare(g) > 0 {
			return
		}
	}
	f.over = 0
	o.w.met["a copy comes back after its lost shard had bound its id again in vain"]++
}

// finished notes that an owner calls a generation final.
func (o *oracle) finished(id phalanx.ObjectID, g phalanx.Generation, d phalanx.Digest) {
	m := o.model(id)
	if f := m.finals[g]; f != nil {
		if f.digest != d {
			o.w.fail("(2) %s@%v is final with %v, and was with %v", id, g, d, f.digest)
		}
		return
	}
	if made, ok := m.made[g]; ok && digestOf(made) != d {
		o.w.fail("(3) %s@%v is final with %v, its origin made %v", id, g, d, digestOf(made))
	}
	for _, b := range append(slices.Clone(m.tried), m.made[g]) {
		if digestOf(b) == d {
			m.finals[g] = &final{digest: d, bytes: b}
			return
		}
	}
	o.w.fail("(3) %s@%v is final with %v, and no node has made these bytes", id, g, d)
}

// forget notes that id's shard lost owner and backup: the cluster may lose all but complete copies,
// tombstones too.
func (o *oracle) forget(id phalanx.ObjectID) {
	m := o.model(id)
	m.survives = phalanx.Generation{}
	m.state, m.gen, m.inline, m.copies = directory.Unbound, phalanx.Generation{}, false, 0
	m.revived = m.revived || m.ever
	m.ever, m.deletes, m.tomb, m.past = false, 0, tomb{}, tomb{}
}

// copied notes that a Put that promised k copies has returned.
func (o *oracle) copied(id phalanx.ObjectID, g phalanx.Generation, k int) {
	if m := o.model(id); k > 1 && m.gen == g {
		m.copies = max(m.copies, k)
	}
}

// finalises checks (17): a target becomes final after its sources.
func (o *oracle) finalises(c *coordinator, e reduce.Finalise) {
	for _, id := range e.In {
		if len(o.model(id).finals) == 0 {
			o.w.fail("(17) %s becomes final before its source %s", c.target, id)
		}
	}
}

// reduced checks (8): the result is the sum of exactly the sources that it names, each once. It may
// contain the old bytes of a source that was lost and put again.
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
	if !o.sums(e.In, make([]byte, e.Size), e.Digest) {
		o.w.fail("(8) %s is not the sum of %v", c.target, e.In)
	}
	if f := o.model(c.target).finals[e.Gen]; f == nil || f.digest != e.Digest {
		o.w.fail("(8) %s was reported as %v with %v, which is not final", c.target, e.Gen, e.Digest)
	}
}

// sums reports whether sum and some final bytes of each id together have digest d.
func (o *oracle) sums(ids []phalanx.ObjectID, sum []byte, d phalanx.Digest) bool {
	if len(ids) == 0 {
		return digestOf(sum) == d
	}
	m := o.model(ids[0])
	for _, g := range sortedGens(m.finals) {
		b := m.finals[g].bytes
		if len(b) != len(sum) {
			continue
		}
		next := slices.Clone(sum)
		addTo(next, b)
		if o.sums(ids[1:], next, d) {
			return true
		}
	}
	return false
}

func sortedGens(m map[phalanx.Generation]*final) []phalanx.Generation {
	all := make([]phalanx.Generation, 0, len(m))
	for g := range m {
		all = append(all, g)
	}
	slices.SortFunc(all, phalanx.Generation.Compare)
	return all
}

// ended checks the outcome of a call.
func (o *oracle) ended(c *call) {
	m := o.model(c.object)
	if c.err != nil {
		lost := o.w.audit.table[c.object.Shard(o.w.shape.shards)].LostAt != 0
		broken := (c.err.Kind == phalanx.ErrInternal || c.err.Kind == phalanx.ErrCorrupt) && !c.excused
		// A reduce outlives a canceled one that it follows. A reduce whose final result was lost
		// before it heard of it may find its binding released.
		ends := c.kind == "reduce" && c.err.Kind == phalanx.ErrAborted && !lost && !m.replacedSince(c.began)
		of := o.model(cmp.Or(c.err.Object, c.object))
		if c.err.Kind == phalanx.ErrDeleted && !of.explains(c) {
			o.w.fail("(12) %s of %s at %s ended in %v, and no caller deletes it", c.kind, c.object, c.node.id, c.err)
		}
		if broken || ends {
			o.w.fail("%s of %s at %s ended in %v", c.kind, c.object, c.node.id, c.err)
		}
		return
	}
	switch c.kind {
	case "put", "make", "get", "copy":
		f := m.finals[c.gen]
		if o.w.changedHere(c) {
			o.w.met["get of a local copy that has changed in memory"]++
		} else if f == nil || digestOf(c.bytes) != f.digest {
			o.w.fail("(1) %s of %s at %s ended with bytes of %v that are not the final ones", c.kind, c.object, c.node.id, c.gen)
			return
		}
		if t := c.node.whole(c.object); t != nil && t.born != 0 && !t.listed {
			o.w.met["get of a copy that no owner has heard of"]++
			return
		}
		if c.kind == "get" && f.over != 0 && f.over < c.began && o.w.audit.steady(c.node, f.over) {
			o.w.fail("(2) get of %s at %s began after %v was replaced, and ended with it", c.object, c.node.id, c.gen)
		}
		if m.gone != 0 && m.gone < c.began && o.w.audit.steady(c.node, m.gone) ||
			m.deleted != 0 && m.deleted < c.began && c.kind != "get" && c.kind != "copy" {
			o.w.fail("(12) %s of %s at %s began after the object was deleted everywhere and ended well", c.kind, c.object, c.node.id)
		}
		if m.past.before(c.began, c.gen, c.kind != "get" && c.kind != "copy") && o.w.audit.steady(c.node, m.past.gone) {
			o.w.fail("(12) %s of %s at %s began after %v was deleted, and ended with %v", c.kind, c.object, c.node.id, m.past.of, c.gen)
		}
	case "delete":
		m.deletes, m.deleter = max(0, m.deletes-1), o.w.now
		if m.deleted == 0 && m.state == directory.Deleted { // else the shard was lost before this answer came
			m.deleted = o.w.now
		}
	}
}
