package httpapi

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

const (
	// firstLook is after how long the node asks the directory for an object without bytes so
	// far, and laterLook the same after some bytes. The next look follows after twice the
	// pause, up to rareLook.
	firstLook = 100 * time.Millisecond
	laterLook = 500 * time.Millisecond
	rareLook  = 4 * time.Second
	// lookFor bounds one look, and lastLook the one after a wait for which the client has waited
	// already. A directory that does not answer says nothing.
	lookFor  = 4 * time.Second
	lastLook = time.Second
)

// lookout ends a download that cannot go on: its object is lost, and the node waits since
// it may be put again; or no byte has come for too long. It has no goroutine of its own
// between two looks.
type lookout struct {
	node   Node
	search *search // the download that it ends
	id     phalanx.ObjectID
	until  time.Time     // before, the node waits for an object that has sent no byte
	stall  time.Duration // how long a stream may bring nothing

	looking sync.WaitGroup // a running timer, and its call

	mu    sync.Mutex
	timer *time.Timer
	pause time.Duration  // before the next look
	found bool           // there is a stream
	busy  bool           // the client takes bytes: that is not the object's silence
	moved bool           // bytes have come
	since time.Time      // when the last ones came, or the stream was there
	lost  *phalanx.Error // the last look that was answered has found that it is lost
	why   *phalanx.Error // the download was ended for that
	stuck bool           // the download was ended since nothing came
	over  bool
}

// lookAfter begins to look after the download that search is for. A caller that waits is not
// told before that time that the object is lost. stop must be called.
func (s *Server) lookAfter(search *search, id phalanx.ObjectID, wait time.Duration) *lookout {
	now := time.Now()
	l := &lookout{node: s.node, search: search, id: id, until: now.Add(wait), stall: s.opts.Stall, pause: firstLook, since: now}
	if wait > 0 { // blame looks once when the wait ends, however many wait
		l.pause = max(wait, firstLook)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.arm(l.pause)
	return l
}

// arm has look called after d. Called with mu held.
func (l *lookout) arm(d time.Duration) {
	l.looking.Add(1)
	l.timer = time.AfterFunc(d, l.look)
}

// stop ends the download and returns when nothing looks after it any more.
func (l *lookout) stop() {
	l.mu.Lock()
	l.over = true
	if l.timer.Stop() {
		l.looking.Done()
	}
	l.mu.Unlock()
	l.search.end()
	l.looking.Wait()
}

// opened says that there is a stream, whose bytes may be waited for as long as a stall lasts.
func (l *lookout) opened() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.found, l.since = true, time.Now()
	if l.timer.Stop() {
		l.pause = min(l.pause, laterLook)
		l.timer.Reset(l.pause)
	}
}

// writing says that bytes have come and are written; wrote that the next ones are waited for.
func (l *lookout) writing() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy, l.moved = true, true
}

func (l *lookout) wrote() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy, l.since = false, time.Now()
}

// look ends the download if it is stuck, and else asks for the fate of its object unless bytes
// come.
func (l *lookout) look() {
	defer l.looking.Done()
	l.mu.Lock()
	since := l.since
	silent := !l.over && !l.busy && time.Since(since) >= l.pause
	l.mu.Unlock()
	var lost *phalanx.Error
	answered := false
	if silent {
		lost, answered = l.ask(l.search, lookFor)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.over:
		return
	case l.busy || l.since != since:
		l.pause, l.lost = laterLook, nil
	case silent:
		if l.pause = min(max(2*l.pause, firstLook), rareLook); answered {
			l.lost = lost
		}
	}
	next := l.pause
	if l.lost != nil && !l.busy {
		wait := time.Until(l.until)
		if l.moved || wait <= 0 {
			l.why = l.lost
			l.search.finish(l.why)
			return
		}
		next = min(next, wait)
	}
	if l.found && !l.busy {
		left := time.Until(l.since.Add(l.stall))
		if !l.moved {
			left = max(left, time.Until(l.until))
		}
		if left <= 0 {
			l.stuck = true
			l.search.finish(context.DeadlineExceeded)
			return
		}
		next = min(next, left)
	}
	l.arm(next)
}

// ask returns an error if the object is lost, and whether the directory has answered.
func (l *lookout) ask(ctx context.Context, most time.Duration) (lost *phalanx.Error, answered bool) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	st, err := l.node.Stat(ctx, l.id)
	if err != nil {
		return nil, false
	}
	if st.State == directory.Lost {
		return lostError(st.Origin, l.id), true
	}
	return nil, true
}

// finally looks once more where a wait has ended: the object may have been lost meanwhile.
func (l *lookout) finally() {
	lost, answered := l.ask(l.search.Context, lastLook)
	l.mu.Lock()
	defer l.mu.Unlock()
	if answered {
		l.lost = lost
	}
}

// lostError says that every copy of an object is gone that origin had made.
func lostError(origin phalanx.NodeID, id phalanx.ObjectID) *phalanx.Error {
	return &phalanx.Error{Op: "get", Object: id, Node: origin, Kind: phalanx.ErrLost,
		Err: errors.New("the node had made the object, and every complete copy is gone; put it again")}
}

// blame returns err, with which the download has ended, as the caller is told it.
func (l *lookout) blame(err error) error {
	e := *typed(err)
	e.Op, e.Object = "get", l.id
	if e.Kind == phalanx.ErrDeadline {
		l.finally()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.why != nil:
		return l.why
	case l.stuck:
		e.Kind = phalanx.ErrDeadline
		if e.Err == nil {
			e.Err = errors.New("its bytes have not all arrived")
		}
		e.Err = fmt.Errorf("%w: no bytes have come for %v", e.Err, l.stall)
	case e.Kind == phalanx.ErrDeadline && l.lost != nil:
		return l.lost
	}
	return &e
}
