package directory

import "github.com/phalanx-go/phalanx"

// A connection takes messages up to a length, and a longer one can never be sent. So the
// core cuts messages that grow with the number of nodes or objects into parts, by weights.
// A weight is an upper bound of the encoded length in bytes, which a test of package
// messages checks for all that can be in a record or a holding.

const (
	// MaxPart bounds the weight of the changes, or of the holdings, in one message.
	MaxPart = 512 << 10
	// MaxPayload bounds what one request brings for a record: bytes, tag, note, shape,
	// the ids of object and node. Such a record weighs less than MaxPart, also with the
	// nodes that have got leave to evict it.
	MaxPayload = 384 << 10
	// MaxStat bounds the holders, and the waiting nodes, in the answer to a Stat.
	MaxStat = 1000

	textWeight    = 6   // of a text or of bytes besides themselves: its tag and length
	fixedWeight   = 192 // of the fields of fixed length in a record or a holding
	elementWeight = 10  // of one dimension of a shape
)

// Weight returns how long c is at most in a message.
func (c Change) Weight() int {
	r := &c.Record
	n := fixedWeight + len(r.Object) + len(r.Tag) + len(r.Note) + len(r.Origin) + len(r.Bytes) + 5*textWeight + shapeWeight(r.Meta)
	for _, id := range r.Evicted {
		n += textWeight + len(id)
	}
	return n
}

// Weight returns how long h is at most in a message.
func (h *Holding) Weight() int {
	n := fixedWeight + len(h.Object) + len(h.Upstream) + 2*textWeight + shapeWeight(h.Meta)
	if h.Tag != "" { // of a reduce
		n += len(h.Tag) + len(h.Note) + 2*textWeight
	}
	return n
}

func shapeWeight(m phalanx.Meta) int { return textWeight + elementWeight*len(m.Shape) }

// FirstPart returns how many of the holdings go into the first of the messages that
// carry them: at least one, if there is one.
func FirstPart(all []Holding) int {
	sum := 0
	for i := range all {
		if sum += all[i].Weight(); sum > MaxPart && i > 0 {
			return i
		}
	}
	return len(all)
}

// Subject returns the object that v, a message of the directory, is about. If there are
// several, it returns the one that adds most to its length.
func Subject(v any) (id phalanx.ObjectID) {
	most := 0
	longer := func(n int, of phalanx.ObjectID) {
		if n > most {
			most, id = n, of
		}
	}
	switch v := v.(type) {
	case Request:
		return v.Object
	case Reply:
		return v.Object
	case Push:
		return v.Object
	case Readiness:
		return v.Object
	case AskLease:
		return v.Object
	case Replicate:
		for _, c := range v.Changes {
			longer(c.Weight(), c.Record.Object)
		}
	case Holdings:
		for i := range v.Holdings {
			longer(v.Holdings[i].Weight(), v.Holdings[i].Object)
		}
	}
	return id
}

// Takes returns how many bytes ev, which came from another node, takes in memory, roughly.
func Takes(ev Event) int64 {
	n := fixedWeight
	switch ev := ev.(type) {
	case Request:
		n += ev.payload()
	case Replicate:
		for _, c := range ev.Changes {
			n += c.Weight()
		}
	case Holdings:
		for i := range ev.Holdings {
			n += ev.Holdings[i].Weight()
		}
	}
	return int64(n)
}

// payload returns how many bytes of a request's own would be in a record.
func (r Request) payload() int {
	n := len(r.Object) + len(r.From)
	switch b := r.Body.(type) {
	case Begin:
		return n + len(b.Tag) + shapeWeight(b.Meta)
	case PutInline:
		return n + len(b.Bytes) + len(b.Tag) + len(b.Note) + shapeWeight(b.Meta)
	case Final:
		return n + len(b.Note) + shapeWeight(b.Meta)
	}
	return n
}
