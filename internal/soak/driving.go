package soak

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx/internal/steal"
)

// driving is what a run needs whatever it soaks: its time, its faults, and what was wrong. It is safe for concurrent use.
type driving struct {
	began  time.Time
	ctx    context.Context // ends with the run, also when something is wrong
	cancel context.CancelFunc
	log    func(string) // may be nil
	faults *faults
	stills stills

	mu      sync.Mutex
	wrong   []string
	history []string // of faults
}

func newDriving(ctx context.Context, log func(string)) *driving {
	s := &driving{began: time.Now(), log: log, faults: newFaults()}
	s.ctx, s.cancel = context.WithCancel(ctx)
	return s
}

// stood notes that a process, or the driver and with it all others, stood still until now:
// the machine did not run it.
func (s *driving) stood(process string, d time.Duration) {
	now := s.clock()
	s.stills.stood(process, d, now)
	if !s.faults.on(process, now-d, now) {
		s.faults.end(s.faults.begin(process, still, now-d), now)
	}
}

func (s *driving) clock() time.Duration { return time.Since(s.began) }

// fail notes that something is wrong, and ends the run.
func (s *driving) fail(err error) {
	if s.ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() == nil || len(s.wrong) == 0 {
		s.wrong = append(s.wrong, err.Error())
	}
	s.cancel()
}

// broken reports whether something was wrong.
func (s *driving) broken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.wrong) > 0
}

func (s *driving) tell(format string, args ...any) {
	text := fmt.Sprintf("%9.3f  %s", s.clock().Seconds(), fmt.Sprintf(format, args...))
	s.mu.Lock()
	s.history = append(s.history, text)
	s.mu.Unlock()
	if s.log != nil {
		s.log(text)
	}
}

// accounts returns the last faults, and the last events of processes.
func (s *driving) accounts(processes []*process) (all []string) {
	s.mu.Lock()
	faults := s.history[max(0, len(s.history)-30):]
	s.mu.Unlock()
	for _, f := range faults {
		all = append(all, "driver "+f)
	}
	for _, p := range processes {
		for _, e := range p.account() {
			all = append(all, p.name+" "+strings.TrimSpace(e))
		}
	}
	return all
}

// look is the time between two looks of eventually.
const look = 50 * time.Millisecond

// eventually waits until ok, for at most patience; stolen time does not count, up to
// three times as much.
func (s *driving) eventually(patience time.Duration, ok func() bool) bool {
	for began, stolen := s.clock(), steal.Total(); ; {
		if ok() {
			return true
		}
		took := s.clock() - began
		own := time.Duration(float64(took) * (1 - steal.Share(steal.Total()-stolen, took)))
		if own > patience || took > 4*patience || s.ctx.Err() != nil {
			return false
		}
		pause(s.ctx, look)
	}
}
