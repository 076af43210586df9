// Package agenda says which of many things is to be looked at next, and when, so that
// the others cost nothing until their time has come.
//
// Used by: node/ask, protocol/barrier, protocol/group.
package agenda

import (
	"cmp"
	"container/heap"
	"time"
)

// Agenda holds one appointment for each key. Keys of the same time are taken in the order
// in which they were set. The zero Agenda is empty.
type Agenda[K comparable] struct {
	queue queue[K]
	items map[K]*item[K]
	seq   uint64
}

type item[K comparable] struct {
	key   K
	at    time.Duration
	seq   uint64
	index int
}

// Len returns how many appointments there are.
func (a *Agenda[K]) Len() int { return len(a.queue) }

// Has reports whether k has an appointment.
func (a *Agenda[K]) Has(k K) bool { return a.items[k] != nil }

// Set makes k due at the given time, in place of an earlier setting.
func (a *Agenda[K]) Set(k K, at time.Duration) {
	a.seq++
	if i := a.items[k]; i != nil {
		if i.at != at {
			i.at, i.seq = at, a.seq
			heap.Fix(&a.queue, i.index)
		}
		return
	}
	if a.items == nil {
		a.items = map[K]*item[K]{}
	}
	i := &item[K]{key: k, at: at, seq: a.seq}
	a.items[k] = i
	heap.Push(&a.queue, i)
}

// Cancel takes k off the agenda.
func (a *Agenda[K]) Cancel(k K) {
	if i := a.items[k]; i != nil {
		heap.Remove(&a.queue, i.index)
		delete(a.items, k)
		a.shrink()
	}
}

// maxIdle is how much room an agenda without appointments keeps.
const maxIdle = 256

// shrink returns the room of an agenda that has had many appointments and has none: maps keep
// theirs.
func (a *Agenda[K]) shrink() {
	if len(a.queue) == 0 && cap(a.queue) > maxIdle {
		a.queue, a.items = nil, nil
	}
}

// Due returns when the next key is to be looked at; false: there is none.
func (a *Agenda[K]) Due() (at time.Duration, ok bool) {
	if len(a.queue) == 0 {
		return 0, false
	}
	return a.queue[0].at, true
}

// Take takes the next key off the agenda whose time has come; false: there is none.
func (a *Agenda[K]) Take(now time.Duration) (k K, ok bool) {
	if len(a.queue) == 0 || a.queue[0].at > now {
		return k, false
	}
	i := heap.Pop(&a.queue).(*item[K])
	delete(a.items, i.key)
	a.shrink()
	return i.key, true
}

// queue implements heap.Interface.
type queue[K comparable] []*item[K]

func (q queue[K]) Len() int { return len(q) }
func (q queue[K]) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q[i].at, q[j].at), cmp.Compare(q[i].seq, q[j].seq)) < 0
}
func (q queue[K]) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}
func (q *queue[K]) Push(x any) {
	i := x.(*item[K])
	i.index = len(*q)
	*q = append(*q, i)
}
func (q *queue[K]) Pop() any {
	last := len(*q) - 1
	i := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return i
}
