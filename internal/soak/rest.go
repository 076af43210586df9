package soak

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/history"
)

const (
	levelPatience = 10 * time.Second // until all deleted objects are gone everywhere
	judgePatience = 10 * time.Second // for the history of an object

	// staleFor is how long after a delete a node without faults may still return the
	// object: until it hears of the delete.
	staleFor = 2 * time.Second
)

// How much more a process may have than at the driver's first look. It keeps
// connections to the nodes that it has dealt with.
const (
	moreGoroutines  = 60
	moreDescriptors = 60
	moreHeap        = 64 << 20 // tombstones stay for 20 minutes

	heapIsApart = runtime.GOOS == "linux" // elsewhere the buffers that a node keeps for reuse are in the heap
)

// rest deletes everything, after faults have stopped and all calls have ended,
// waits until nothing is left, and judges the history.
func (s *soak) rest(rng *rand.Rand) error {
	for _, o := range s.ledger.objects() {
		if o.isGone() {
			continue
		}
		if !s.remove(s.fleet.any(rng), o) && !s.broken() {
			s.fail(fmt.Errorf("%s could not be deleted after the faults", o.id))
		}
		if s.broken() || s.ctx.Err() != nil {
			return s.ctx.Err()
		}
	}
	var now map[string]*nodeState
	why := ""
	level := s.eventually(levelPatience, func() bool {
		var err error
		for _, rest := range []bool{false, true} { // the heap costs time: the driver asks for it only if the rest is level
			if now, err = s.fleet.states(rest); err != nil {
				why = err.Error()
			} else {
				why = s.remains(now)
			}
			if why != "" {
				return false
			}
		}
		return true
	})
	if s.ctx.Err() != nil {
		return s.ctx.Err()
	}
	if !level {
		s.fail(fmt.Errorf("%v after everything was deleted %s%s", levelPatience, why, s.relics()))
	}
	s.measure(now)
	s.judgeHistory()
	s.judgeMistakes()
	s.faults.forget(s.clock() - disturbance)
	return nil
}

// remains names the objects and resources that a process still has, or "".
func (s *soak) remains(now map[string]*nodeState) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(now)) {
		f := now[name].Figures
		if f.Objects+f.Fetching+f.Reduces+f.Places > 0 || f.Memory != 0 || f.Lasting != 0 {
			return fmt.Sprintf("%s has %d copies, %d fetches, %d reduces, %d places, %d bytes, %d of them pinned or reserved", name, f.Objects, f.Fetching, f.Reduces, f.Places, f.Memory, f.Lasting)
		}
		was, ok := s.first[name]
		if !ok {
			was = f
			for _, other := range s.first { // the process is new: it may have as much as another
				was.Goroutines, was.Descriptors = max(was.Goroutines, other.Goroutines), max(was.Descriptors, other.Descriptors)
				was.Heap = max(was.Heap, other.Heap)
			}
		}
		if why := grown(f, was); why != "" {
			return name + " has " + why
		}
	}
	for _, p := range s.fleet.members()[:1] {
		l, ok := p.ask(order{Do: "list", Object: prefix, Deadline: callDeadline}, answerPatience)
		if !ok || l.Kind != 0 || len(l.In) > 0 {
			return fmt.Sprintf("%s lists %v %s", p.name, l.In, l.Err)
		}
	}
	return ""
}

// grown names the resource of which a process has too much more than at first, or "".
func grown(is, was Figures) string {
	switch {
	case is.Goroutines > was.Goroutines+moreGoroutines || is.Descriptors > was.Descriptors+moreDescriptors:
		return fmt.Sprintf("%d goroutines and %d file descriptors, after %d and %d", is.Goroutines, is.Descriptors, was.Goroutines, was.Descriptors)
	case heapIsApart && is.Heap > was.Heap+moreHeap:
		return fmt.Sprintf("%d bytes of heap, after %d", is.Heap, was.Heap)
	}
	return ""
}

// relics returns the histories of some deleted objects that processes still have.
func (s *soak) relics() string {
	var b strings.Builder
	ops := s.record.take()
	for _, p := range s.fleet.members() {
		told := 0
		for _, o := range s.ledger.objects() {
			if told == 3 {
				break
			}
			if l, ok := p.ask(order{Do: "get", Object: o.id, Try: true, Deadline: callDeadline}, answerPatience); ok && l.Kind == 0 {
				told++
				fmt.Fprintf(&b, "\n%s still has %s of %d bytes:", p.name, o.id, l.Size)
				for _, op := range ops {
					if op.Object == o.id {
						fmt.Fprintf(&b, "\n  %v", op)
					}
				}
			}
		}
	}
	return b.String()
}

// measure keeps the figures of all processes.
func (s *soak) measure(now map[string]*nodeState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.res.End = map[string]Figures{}
	for name, st := range now {
		s.res.Evicted += st.Evicted - s.evicted[name]
		s.evicted[name] = st.Evicted
		s.res.End[name] = st.Figures
		if _, ok := s.first[name]; !ok {
			s.first[name] = st.Figures
		}
	}
	s.res.Start = map[string]Figures{}
	for name := range s.res.End {
		s.res.Start[name] = s.first[name]
	}
}

// judgeHistory checks the history of the round.
func (s *soak) judgeHistory() {
	ops := s.completed(s.record.take())
	v := history.Check(ops, judgePatience)
	s.mu.Lock()
	s.res.Histories += v.Objects
	s.res.Judged += v.Ops
	s.res.Undecided += len(v.Undecided)
	s.mu.Unlock()
	for _, w := range v.Wrong {
		s.fail(fmt.Errorf("%v", w))
	}
}

// completed marks reads that may return a deleted object, and adds the reduces that
// have several right outcomes: each outcome that a reader has seen, or else the first.
func (s *soak) completed(ops []history.Op) []history.Op {
	history.MarkStale(ops, staleFor, func(node string, from, to time.Duration) bool { return s.faults.on(node, from, to) })
	seen := map[phalanx.ObjectID][]string{}
	for _, op := range ops {
		if op.Call == history.Get && op.Version != "" {
			seen[op.Object] = append(seen[op.Object], op.Version)
		}
	}
	for _, o := range s.ledger.objects() {
		o.mu.Lock()
		for _, version := range o.outcomes(seen[o.id]) {
			put := o.made
			put.Version, put.Outcome, put.End = version, phalanx.ErrUnavailable, history.Never
			ops = append(ops, put)
		}
		o.mu.Unlock()
	}
	return ops
}

// outcomes returns the versions that the reduce of the object may have made, if there are
// several: the versions that readers have seen; or if nobody has read it the first, since
// it made one. It needs o.mu.
func (o *object) outcomes(seen []string) []string {
	if o.made.Object == "" {
		return nil
	}
	right := slices.DeleteFunc(slices.Clone(o.sums), func(version string) bool { return !slices.Contains(seen, version) })
	if len(right) == 0 {
		return o.sums[:1]
	}
	return right
}
