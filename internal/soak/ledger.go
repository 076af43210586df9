package soak

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/history"
)

// object is the driver's record of an id.
type object struct {
	id      phalanx.ObjectID
	size    int64
	array   bool
	reduced bool     // a source or the target of a reduce: only that puts and deletes it
	sums    []string // the hashes that the target of a reduce can have; written by the reduce

	mu       sync.Mutex
	puts     int             // versions that were put
	acked    time.Duration   // when a put first succeeded since the last Delete; 0: none has
	copies   bool            // a put of two copies succeeded
	durable  bool            // no single death can lose it
	homes    map[string]bool // the nodes that must have a pinned copy; "" stands for an unknown node
	unsure   bool            // the last complete copy may be gone
	making   int             // puts and reduces of it that are under way: readers may see their end before the driver does
	endings  int             // puts and reduces of it that have ended
	failed   bool            // a put or a reduce has failed or was canceled
	deleting int             // Deletes of it that are under way
	freed    time.Duration   // when a Delete of it last ended
	doubtful bool            // a Delete has failed: it may still take effect at any time
	gone     bool            // deleted for certain, and not put again
	made     history.Op      // the reduce that made it, if sums has more than one
}

// free reports whether the object may be there and no Delete of it is under way.
func (o *object) free() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.deleting == 0 && !o.gone
}

// anywhere is the home of a copy whose node is not known.
const anywhere = ""

// sureSince reports whether the object must have been there since t.
func (o *object) sureSince(t time.Duration) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.acked > 0 && o.acked <= t && !o.unsure && o.deleting == 0
}

// put notes a put that began at begin and succeeded on a node. It ignores a put that ran
// beside a Delete: that may have deleted the put's object again.
func (o *object) put(node string, begin, now time.Duration, copies int, durable bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.deleting > 0 || o.doubtful || begin < o.freed {
		return
	}
	if o.freed > 0 && o.acked == 0 {
		o.unsure = false // that was before the Delete
	}
	o.copies = o.copies || copies > 1
	if o.acked == 0 {
		o.acked = now
	}
	o.durable = o.durable || durable || copies > 1
	o.homes[node] = true
}

// died notes the end of a process, and reports whether the object can have been lost
// with it.
func (o *object) died(name string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.homes, name)
	delete(o.homes, anywhere)
	if o.durable && o.acked > 0 {
		return false
	}
	if len(o.homes) == 0 {
		o.unsure = true
	}
	return len(o.homes) == 0
}

// hides reports whether the object's only complete copy may be that of a process, on
// which the cluster does not count while its node is removed.
func (o *object) hides(name string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	others := len(o.homes)
	for _, home := range []string{name, anywhere} {
		if o.homes[home] {
			others--
		}
	}
	return !o.durable && o.acked > 0 && others == 0
}

// left notes that a node has handed over its copy, if it had the only one.
func (o *object) left(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.homes[name] {
		delete(o.homes, name)
		o.homes[anywhere] = true
	}
}

// ledger has the objects of a round. It is safe for concurrent use.
type ledger struct {
	mu    sync.Mutex
	all   []*object
	bytes int64
}

func (l *ledger) add(o *object) *object {
	o.homes = map[string]bool{}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, o)
	l.bytes += o.size
	return o
}

// recent is how many of the last objects clients use.
const recent = 60

// pick returns a random one of the last objects, or nil.
func (l *ledger) pick(rng *rand.Rand) *object {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) == 0 {
		return nil
	}
	return l.all[len(l.all)-1-rng.IntN(min(recent, len(l.all)))]
}

// excess returns the oldest object that no client deletes yet, if all objects together
// have more bytes than limit.
func (l *ledger) excess(limit int64) *object {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bytes <= limit {
		return nil
	}
	for _, o := range l.all {
		if !o.reduced && o.free() {
			return o
		}
	}
	return nil
}

// deletion has the counts of an object when a Delete began.
type deletion struct{ endings, making int }

// deletes notes that a Delete of the object begins.
func (o *object) deletes() deletion {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.deleting++
	return deletion{o.endings, o.making}
}

// freed notes how a Delete has ended. The object is gone for certain only if no put ran
// meanwhile: that may have taken effect later.
func (l *ledger) freed(o *object, d deletion, ok bool, now time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.deleting--
	o.freed, o.acked, o.copies, o.durable, o.homes = now, 0, false, false, map[string]bool{}
	o.doubtful = o.doubtful || !ok
	if ok && !o.gone && d.making == 0 && o.making == 0 && o.endings == d.endings {
		o.gone = true
		l.bytes -= o.size
	}
}

// ended notes how a put of the object, or a reduce to it, has ended. The object may be there
// again.
func (l *ledger) ended(o *object, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.making--
	o.endings++
	o.failed = o.failed || !ok
	if o.gone {
		o.gone = false
		l.bytes += o.size
	}
}

func (l *ledger) objects() []*object {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

// record is the history of a round.
type record struct {
	mu  sync.Mutex
	ops []history.Op
}

func (r *record) add(op history.Op) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops = append(r.ops, op)
}

// seen returns the history of an object until now, as text.
func (r *record) seen(id phalanx.ObjectID) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := ""
	for _, op := range r.ops {
		if op.Object == id {
			text += fmt.Sprintf("\n  %v", op)
		}
	}
	return text
}

// take returns the history and begins a new one.
func (r *record) take() []history.Op {
	r.mu.Lock()
	defer r.mu.Unlock()
	ops := r.ops
	r.ops = nil
	return ops
}

func (o *object) maybeLost() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.unsure
}

// begun notes that a put of the object, or a reduce to it, begins.
func (o *object) begun() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.making++
}

// mayHaveFailed reports whether a put or a reduce of the object has failed, or may have: its
// end is not known yet.
func (o *object) mayHaveFailed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failed || o.making > 0
}

// wantsCopies reports whether the object must have two pinned copies.
func (o *object) wantsCopies() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.copies && o.deleting == 0
}

func (o *object) isGone() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.gone
}
