package ask

import (
	"slices"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// reports keeps a node's reports about its copy of an object in order: one report about
// an object is under way at a time, reports about different objects do not wait for each
// other. An owner can take two reports that are under way in the wrong order, and ignores
// the older one then: it would not hear that a copy is complete which its node asks to
// evict.
//
// The zero value is empty. It is not safe for concurrent use.
type reports struct {
	lines map[phalanx.ObjectID][]line // the first of each is under way, the others wait in the order of their numbers
}

type line struct {
	num  uint64
	body directory.Body
}

// IsReport reports whether b is a node's report about its copy.
func IsReport(b directory.Body) bool {
	switch b.(type) {
	case directory.Announce, directory.Done, directory.Drop, directory.Evict, directory.Corrupt:
		return true
	}
	return false
}

// Add takes a report. The caller sends it now, or once Over returns its number. If the
// last waiting report says the same, joins is its number, and its answer answers both: so
// a line grows no longer than the history of the copy.
func (r *reports) Add(id phalanx.ObjectID, num uint64, body directory.Body) (now bool, joins uint64) {
	waits := r.lines[id]
	if n := len(waits); n > 1 && waits[n-1].num < num && sameReport(waits[n-1].body, body) {
		return false, waits[n-1].num
	}
	at := len(waits)
	for at > 1 && num < waits[at-1].num {
		at--
	}
	if r.lines == nil {
		r.lines = map[phalanx.ObjectID][]line{}
	}
	r.lines[id] = slices.Insert(waits, at, line{num, body})
	return at == 0, 0
}

func sameReport(a, b directory.Body) bool {
	x, announces := a.(directory.Announce)
	y, too := b.(directory.Announce)
	if announces && too {
		return x.Gen == y.Gen && x.Complete == y.Complete && x.Pinned == y.Pinned && x.Origin == y.Origin && x.Begun == y.Begun &&
			x.Retiring == y.Retiring && x.Meta.Equal(y.Meta)
	}
	return !announces && !too && a == b
}

// Over notes that report num of an object was answered, or given up. It returns the
// number of the report to send now, or 0.
func (r *reports) Over(id phalanx.ObjectID, num uint64) (next uint64) {
	waits := r.lines[id]
	at := slices.IndexFunc(waits, func(l line) bool { return l.num == num })
	if at < 0 {
		return 0
	}
	if waits = slices.Delete(waits, at, at+1); len(waits) == 0 {
		delete(r.lines, id)
		return 0
	}
	r.lines[id] = waits
	if at > 0 {
		return 0
	}
	return waits[0].num
}
