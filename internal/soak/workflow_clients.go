package soak

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/hashdag"
	"github.com/phalanx-go/phalanx/internal/reservation"
	"github.com/phalanx-go/phalanx/workflow"
)

const (
	runCall     = 5 * time.Second // deadline of a call about a run
	runDeadline = 3 * time.Minute // of a run, from its start until it is forgotten
	tryAgain    = 20 * time.Millisecond
)

// done is a run of hashes that has ended.
type done struct {
	id, uid string
	sums    []string // what each task makes
}

// serveStore has the driver be the store of trips.
func (w *workflows) serveStore(socket string) (stop func() error, err error) {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		store := w.store
		w.mu.Unlock()
		reservation.Handler(store).ServeHTTP(to, r)
	})}
	go func() { _ = server.Serve(l) }() // until it is closed
	return server.Close, nil
}

// hash starts one run of hashes after the other until ctx ends, and checks them.
func (w *workflows) hash(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil && !w.broken() && w.hashOnce(rng, w.present()) {
	}
}

// hashOnce has a run of hashes start, with a version of their task, and checks it. It returns false if something is wrong, or all
// is over.
func (w *workflows) hashOnce(rng *rand.Rand, version int) bool {
	p := program{ID: w.newID("hash"), Tasks: 1 + rng.IntN(dagTasks), Seed: rng.Uint64(), Version: version}
	uid, result, ok := w.follow(rng, "hash", p)
	if !ok {
		return false
	}
	sums := hashdag.Plain(hashdag.Edges(p.Tasks, p.Seed))
	var made hashdag.Made
	if err := json.Unmarshal(result, &made); err != nil || made.Sum != sums[len(sums)-1] {
		w.fail(fmt.Errorf("%s has made %s, a plain run makes %s", p.ID, result, sums[len(sums)-1]))
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.checks = append(w.checks, done{p.ID, uid, sums})
	return true
}

// present returns the version of the task that hashes, of runs that begin now.
func (w *workflows) present() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.version
}

func (w *workflows) newID(kind string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs++
	return fmt.Sprintf("%s/%d", kind, w.runs)
}

// travel books one trip after the other until ctx ends.
func (w *workflows) travel(ctx context.Context, rng *rand.Rand) {
	for ctx.Err() == nil && !w.broken() {
		w.mu.Lock()
		w.age++
		t := reservation.Trip{Age: w.age, Rows: reservation.RowsOf(rng, tripsOfEach)}
		w.mu.Unlock()
		stage := rng.IntN(len(reservation.Stages))
		for again := true; again && !w.broken(); { // it is as old as before, if it was too young for a lock
			id := w.newID("trip")
			t.ID = id
			trip := t
			_, result, ok := w.follow(rng, "trip", program{ID: id, Trip: &trip, Stage: stage})
			if !ok {
				return
			}
			var b reservation.Booking
			if err := json.Unmarshal(result, &b); err != nil {
				w.fail(fmt.Errorf("%s has made %s: %w", id, result, err))
				return
			}
			w.mu.Lock()
			w.told[id] = b
			w.mu.Unlock()
			again = b.Again()
			pause(w.ctx, tryAgain)
		}
	}
}

// follow starts a run, waits for its result and has it forgotten. ok is false if something is wrong, or all is over.
func (w *workflows) follow(rng *rand.Rand, kind string, p program) (uid string, result json.RawMessage, ok bool) {
	began := w.clock()
	steps := []string{"start", "await", "forget"}
	if p.Medley != nil {
		steps = []string{"start", "signal", "await", "forget"}
	}
	for _, do := range steps {
		for {
			if w.ctx.Err() != nil {
				return "", nil, false
			}
			if took := w.clock() - began; took > runDeadline {
				w.fail(fmt.Errorf("%s hangs: it has not ended %v after its start, in its %s: %s", p.ID, took, do, w.describe(rng, p)))
				return "", nil, false
			}
			l, answered := w.call(rng, do, p)
			if answered && l.Kind == 0 && l.Run != nil {
				if uid == "" {
					uid = l.Run.UID
				}
				if do == "await" {
					result = l.Run.Result
				}
				break
			}
			if do == "forget" && (l.Kind == phalanx.ErrNotFound || l.Kind == phalanx.ErrDeleted) { // by the call before, whose answer was lost
				break
			}
			if do == "signal" && answered && w.signalled(rng, p, l.Kind) {
				break
			}
			if answered && !again(l.Kind) {
				w.fail(fmt.Errorf("%s of %s: %s", do, p.ID, l.Err))
				return "", nil, false
			}
			if do == "await" && !w.unstick(rng, p) {
				return "", nil, false
			}
			pause(w.ctx, tryAgain)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.res.Runs[kind]++
	w.res.Slowest[kind] = max(w.res.Slowest[kind], (w.clock() - began).Seconds())
	return uid, result, true
}

// again reports whether a call that has failed so is to be repeated.
func again(k phalanx.Kind) bool {
	switch k {
	case phalanx.ErrUnavailable, phalanx.ErrDeadline, phalanx.ErrClosed, phalanx.ErrFenced, phalanx.ErrNoSpace:
		return true
	}
	return false
}

// call gives an order about a run to some process, and notes and judges its outcome.
func (w *workflows) call(rng *rand.Rand, do string, p program) (l line, answered bool) {
	to := w.any(rng)
	if to == nil {
		return line{}, false
	}
	begin := w.clock()
	l, answered = to.ask(order{Do: do, Deadline: runCall, Run: &p}, runCall+lateness)
	end := w.clock()
	if hit := w.faults.on(to.name, begin, end) || ended(to); !hit && (!answered || l.Took > runCall+lateness) && w.ctx.Err() == nil {
		w.fail(fmt.Errorf("%s of %s on %s has not ended %v after its deadline, from %.3f to %.3f", do, p.ID, to.name, lateness, begin.Seconds(), end.Seconds()))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.res.Calls++
	switch {
	case !answered:
		w.res.Errors["died"]++
	case l.Kind != 0:
		w.res.Errors[l.Kind.Error()]++
	}
	return l, answered
}

// unstick has a run go on that waits since a task has lost its process too often, or since no node has
// its version of a task any more, as somebody on call would. It returns false if
// the run waits for anything else.
func (w *workflows) unstick(rng *rand.Rand, p program) bool {
	l, answered := w.call(rng, "look", p)
	if !answered || l.Kind != 0 || l.Run == nil || l.Run.Status == nil {
		return true
	}
	how := &w.res.Resumed
	switch s, now := l.Run.Status, w.present(); {
	case len(s.Lost) > 0:
		w.fail(fmt.Errorf("%s has lost %v, although no two disks were lost: %s", p.ID, s.Lost, s.Why))
		return false
	case p.Trip == nil && p.Version != now && len(s.Lacks) > 0:
		p.With, how = &workflow.Function{Name: hashdag.Name, Version: now}, &w.res.Upgraded
	case s.State != workflow.Waiting:
		return true
	default:
		w.tell("%s is stuck: %s", p.ID, s.Why)
	}
	if l, answered = w.call(rng, "resume", p); answered && l.Kind == 0 {
		w.mu.Lock()
		*how++
		w.mu.Unlock()
	}
	return true
}

// describe says how a run stands, for the account of a failure.
func (w *workflows) describe(rng *rand.Rand, p program) string {
	l, answered := w.call(rng, "look", p)
	if !answered || l.Run == nil || l.Run.Status == nil {
		return "nobody says how it stands: " + l.Err
	}
	return fmt.Sprintf("%+v", l.Run.Status.Status)
}
