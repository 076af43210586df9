package memory

import "math"

// request is a request that waits.
type request struct {
	id      uint64
	bytes   int64
	slot    int  // in the line
	counted bool // in Queue.wanted: it can be met
	gone    bool
}

// line has requests in order of their arrival. To find the first that is small enough
// takes a time that grows with the logarithm of how many there are.
type line struct {
	slots []*request // in order; nil where one has left
	least []int64    // a tree: least[1] is the least of all bytes, least[len(slots)+i] the bytes of slot i
	next  int        // the slot of the next that comes
	len   int
}

const (
	fewSlots = 16
	nobody   = math.MaxInt64 // bytes of an empty slot
)

// add puts r at the end.
func (l *line) add(r *request) {
	if l.next == len(l.slots) {
		l.rebuild()
	}
	l.put(r)
	l.raise(r.slot, r.bytes)
}

func (l *line) put(r *request) {
	r.slot = l.next
	l.slots[r.slot] = r
	l.next++
	l.len++
}

// remove takes r out.
func (l *line) remove(r *request) {
	l.slots[r.slot] = nil
	l.len--
	if l.len == 0 {
		*l = line{}
		return
	}
	l.raise(r.slot, nobody)
}

// raise sets the bytes of a slot, and the least ones above it.
func (l *line) raise(slot int, bytes int64) {
	i := len(l.slots) + slot
	l.least[i] = bytes
	for i /= 2; i > 0; i /= 2 {
		l.least[i] = min(l.least[2*i], l.least[2*i+1])
	}
}

// first returns the first request of at most so many bytes, or nil.
func (l *line) first(bytes int64) *request {
	if l.len == 0 || l.least[1] > bytes {
		return nil
	}
	i := 1
	for i < len(l.slots) {
		if i *= 2; l.least[i] > bytes {
			i++
		}
	}
	return l.slots[i-len(l.slots)]
}

// rebuild leaves the empty slots out, and has at least as many free ones as there are
// requests: it is not due again before that many have come.
func (l *line) rebuild() {
	old := l.slots
	size := fewSlots
	for size < 2*l.len {
		size *= 2
	}
	*l = line{slots: make([]*request, size), least: make([]int64, 2*size)}
	for _, r := range old {
		if r != nil {
			l.put(r)
		}
	}
	for i, r := range l.slots {
		if l.least[size+i] = nobody; r != nil {
			l.least[size+i] = r.bytes
		}
	}
	for i := size - 1; i > 0; i-- {
		l.least[i] = min(l.least[2*i], l.least[2*i+1])
	}
}
