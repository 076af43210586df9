package main

import (
	"math"
	"slices"
	"time"
)

// scheduler knows which worker has which task and how fast each worker is, and says where a
// task goes. Times are since the controller began.
type scheduler struct {
	workers []progress
	holders map[string][]int // of each label of the phase that is not done: the workers that have a copy
}

// progress is what is known of a worker.
type progress struct {
	outstanding int           // copies that it has, of tasks that are not done
	done        int           // tasks that it was the first to do, in all phases
	busy        time.Duration // time in which it had tasks, until since
	since       time.Duration // when it got the first of those that are outstanding
}

func newScheduler(workers int) *scheduler {
	return &scheduler{workers: make([]progress, workers), holders: map[string][]int{}}
}

// throughput is how many tasks a worker does in a second, and 0 if nothing is known of it.
// One that has not yet done any counts as having done half of its first.
func (s *scheduler) throughput(worker int, now time.Duration) float64 {
	w := s.workers[worker]
	busy := w.busy
	if w.outstanding > 0 {
		busy += now - w.since
	}
	if busy <= 0 {
		return 0
	}
	return max(float64(w.done), 0.5) / busy.Seconds()
}

// wait is how many seconds a worker is expected to need for n tasks. A worker of which nothing
// is known is taken to be as fast as the others are on average, and all of those to be alike.
func (s *scheduler) wait(worker, n int, now time.Duration) float64 {
	rate := s.throughput(worker, now)
	if rate == 0 {
		known := 0
		for w := range s.workers {
			if r := s.throughput(w, now); r > 0 {
				rate += r
				known++
			}
		}
		if known == 0 {
			return float64(n)
		}
		rate /= float64(known)
	}
	return float64(n) / rate
}

// share gives the tasks of a phase to the workers: each goes where it is expected to be done
// first, so that a fast worker gets more of them, and all get as many while none is known to be
// faster.
func (s *scheduler) share(labels []string, now time.Duration) []int {
	clear(s.holders)
	for w := range s.workers {
		s.leave(w, s.workers[w].outstanding, now)
	}
	to := make([]int, len(labels))
	planned := make([]int, len(s.workers))
	for i := range labels {
		best, least := 0, math.Inf(1)
		for w := range s.workers {
			if d := s.wait(w, planned[w]+1, now); d < least {
				best, least = w, d
			}
		}
		planned[best]++
		to[i] = best
	}
	for i, label := range labels {
		s.give(label, to[i], now)
	}
	return to
}

// again returns the worker that gets another copy of a task: the one with the fewest outstanding
// tasks among those without a copy, of several the one with the highest throughput. Nobody gets it
// if those that have a copy are expected to be done as soon.
func (s *scheduler) again(label string, now time.Duration) (worker int, ok bool) {
	holders := s.holders[label]
	if len(holders) == 0 {
		return 0, false
	}
	worker = -1
	for w := range s.workers {
		if slices.Contains(holders, w) {
			continue
		}
		if worker < 0 || s.before(w, worker, now) {
			worker = w
		}
	}
	if worker < 0 {
		return 0, false
	}
	mine := s.wait(worker, s.workers[worker].outstanding+1, now)
	for _, h := range holders {
		if s.wait(h, s.workers[h].outstanding, now) <= mine {
			return 0, false
		}
	}
	s.give(label, worker, now)
	return worker, true
}

// before reports whether worker a is to get a copy rather than b.
func (s *scheduler) before(a, b int, now time.Duration) bool {
	if x, y := s.workers[a].outstanding, s.workers[b].outstanding; x != y {
		return x < y
	}
	return s.wait(a, 1, now) < s.wait(b, 1, now)
}

func (s *scheduler) give(label string, worker int, now time.Duration) {
	w := &s.workers[worker]
	if w.outstanding == 0 {
		w.since = now
	}
	w.outstanding++
	s.holders[label] = append(s.holders[label], worker)
}

// finished notes that a worker was the first to do a task, and returns the others that have a
// copy of it.
func (s *scheduler) finished(label string, worker int, now time.Duration) (others []int) {
	holders := s.holders[label]
	if len(holders) == 0 {
		return nil
	}
	delete(s.holders, label)
	s.workers[worker].done++
	for _, h := range holders {
		if s.leave(h, 1, now); h != worker {
			others = append(others, h)
		}
	}
	return others
}

// leave takes n outstanding tasks from a worker.
func (s *scheduler) leave(worker, n int, now time.Duration) {
	w := &s.workers[worker]
	if w.outstanding -= n; n > 0 && w.outstanding == 0 {
		w.busy += now - w.since
	}
}
