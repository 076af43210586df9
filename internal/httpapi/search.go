package httpapi

import (
	"context"
	"sync"
	"time"
)

// search is the context of a download. Until the object is found it has the
// deadline of the search, afterwards only that of its parent: a stream ends
// with the context that it was opened with.
type search struct {
	context.Context // the parent
	done            chan struct{}
	timer           *time.Timer
	leave           func() bool

	mu       sync.Mutex
	err      error
	deadline time.Time // of the search; zero once it is over
}

func newSearch(parent context.Context, d time.Duration) *search {
	s := &search{Context: parent, done: make(chan struct{}), deadline: time.Now().Add(d)}
	s.leave = context.AfterFunc(parent, func() { s.finish(parent.Err()) })
	s.timer = time.AfterFunc(d, s.late)
	return s
}

func (s *search) late() {
	s.mu.Lock()
	searching := !s.deadline.IsZero()
	s.mu.Unlock()
	if searching {
		s.finish(context.DeadlineExceeded)
	}
}

func (s *search) finish(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
		close(s.done)
	}
}

// found ends the search. It returns the context's error if that was too late.
func (s *search) found() error {
	s.timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = time.Time{}
	return s.err
}

// end releases the context.
func (s *search) end() {
	s.timer.Stop()
	s.leave()
	s.finish(context.Canceled)
}

// Done is closed when the search or the parent has ended.
func (s *search) Done() <-chan struct{} { return s.done }

// Err says which of them it was.
func (s *search) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Deadline returns the earlier deadline.
func (s *search) Deadline() (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	parent, ok := s.Context.Deadline()
	if !s.deadline.IsZero() && (!ok || s.deadline.Before(parent)) {
		return s.deadline, true
	}
	return parent, ok
}
