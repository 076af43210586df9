package single

import "sync"

// queue has the events of a host, in order. Once it is closed, it takes none.
type queue struct {
	mu     sync.Mutex
	events []any
	closed bool
	wake   chan struct{} // of capacity 1: there are events
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

// add adds an event, and reports whether the queue has taken it. It never waits.
func (q *queue) add(ev any) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.events = append(q.events, ev)
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return true
}

// take returns all events that are there, and closes the queue if it is to take no others.
func (q *queue) take(last bool) []any {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.events
	q.events, q.closed = nil, q.closed || last
	return all
}
