package soak

import (
	"testing"
	"time"
)

// An object that was deleted and put again is there again, and is deleted again.
func TestPutAgainIsThereAgain(t *testing.T) {
	put := func(l *ledger, o *object, begin, end int) {
		o.begun()
		l.ended(o, true)
		o.put("n1", time.Duration(begin), time.Duration(end), 1, false)
	}
	for name, c := range map[string]struct {
		run                func(l *ledger, o *object)
		gone, sure, doomed bool // doomed: the object may be lost with n1
		bytes              int64
	}{
		"put":     {func(l *ledger, o *object) { put(l, o, 1, 2) }, false, true, true, 10},
		"deleted": {func(l *ledger, o *object) { put(l, o, 1, 2); l.freed(o, o.deletes(), true, 4) }, true, false, true, 0},
		"again":   {func(l *ledger, o *object) { put(l, o, 1, 2); l.freed(o, o.deletes(), true, 4); put(l, o, 5, 6) }, false, true, true, 10},
		"twice": {func(l *ledger, o *object) {
			put(l, o, 1, 2)
			l.freed(o, o.deletes(), true, 4)
			put(l, o, 5, 6)
			l.freed(o, o.deletes(), true, 8)
		}, true, false, true, 0},
		"beside the delete": {func(l *ledger, o *object) {
			d := o.deletes()
			put(l, o, 3, 4)
			l.freed(o, d, true, 5)
		}, false, false, true, 10},
		"begun before it ended": {func(l *ledger, o *object) {
			o.begun()
			l.freed(o, o.deletes(), true, 5)
			l.ended(o, true)
			o.put("n1", 4, 6, 1, false)
		}, false, false, true, 10},
		"the delete has failed": {func(l *ledger, o *object) { l.freed(o, o.deletes(), false, 4); put(l, o, 5, 6) }, false, false, true, 10},
		"copies of before do not count": {func(l *ledger, o *object) {
			o.put("n2", 1, 2, 2, true)
			l.freed(o, o.deletes(), true, 4)
			put(l, o, 5, 6)
		}, false, true, true, 10},
		"others have it": {func(l *ledger, o *object) { put(l, o, 1, 2); o.put("n2", 3, 4, 1, false) }, false, true, false, 10},
	} {
		l := &ledger{}
		o := l.add(&object{size: 10})
		c.run(l, o)
		if o.isGone() != c.gone || o.sureSince(100) != c.sure || l.bytes != c.bytes || o.died("n1") != c.doomed {
			t.Errorf("%s: gone %v, sure %v, %d bytes, lost with n1 %v", name, o.isGone(), o.sureSince(100), l.bytes, !o.sureSince(100))
		}
	}
}
