package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
)

// The measures of the refinement, in the paper's time.
const (
	sKnee    = "s: knee found"
	nKnee    = "tasks done at the knee"
	nMoved   = "tasks moved"
	sDone    = "s: all done"
	sSlowest = "s: the slowest host done"
	speedup  = "times faster"
)

// refinement is figure 9 of the paper: EMAN.
var refinement = part{
	name: "eman",
	about: func(o options) string {
		return fmt.Sprintf(`A phase of the refinement of EMAN: %d hosts with a task each. The barrier looks for a knee from 60 %% on; at the knee the tasks that are not done go to hosts that are.
Scale 1:%d: a second of the paper takes %v of real time; times are the paper's seconds since the first task was done. %d nodes in one process. The paper has a plot of the arrivals and no list, so this list is made to fit its
text: 21 tasks are done until a knee at 300 s, 88 until the knee at 801 s, and the last ten between 1,000 and 2,700 s. A copy of a task takes 60 to 99 s, as the paper's ten were done 99 s after the knee; so "all done" is partly an input,
and the measurement shows that no knee before the one at 801 s moves a task. A barrier finds a knee later than that by four times what the news of an entry took, by 200 ms at most, which is not scaled.`, emanHosts, o.scale, time.Second/time.Duration(o.scale), o.nodes)
	},
	measures: []measure{{sKnee, "801"}, {nKnee, "88"}, {nMoved, "10"}, {sDone, "900"}, {sSlowest, "more than 2,700"}, {speedup, "more than 3"}},
	measure: func(ctx context.Context, o options, add func(sample)) error {
		nodes, leave, err := startNodes(ctx, o.nodes)
		if err != nil {
			return err
		}
		for run := range o.runs {
			var s sample
			if s, err = measureRefinement(ctx, nodes, o.scale, fmt.Sprint("eman/", run)); err != nil {
				break
			}
			s.Run = run
			add(s)
		}
		return errors.Join(err, leave())
	},
}

const (
	emanHosts   = 98
	emanPercent = 60 // below which the paper ignores knees
	copyLeast   = 60 * time.Second
	copyMost    = 99 * time.Second
)

// emanArrivals are the times when tasks are done, since the first was: 21 at a steady pace, whose
// knee is at 300 s; 67 at a steady pace from 310 s on, whose knee is at 801 s; and ten slow ones.
func emanArrivals() (all []time.Duration) {
	at := func(seconds float64) { all = append(all, time.Duration(seconds*float64(time.Second))) }
	for i := range 21 {
		at(9.725 * float64(i))
	}
	for i := range 67 {
		at(310 + 6.377*float64(i))
	}
	for i := range 10 {
		at(1000 + 1700*float64(i)/9)
	}
	return all
}

// reallocation gives slow tasks to hosts that are done.
type reallocation struct {
	began time.Time
	scale time.Duration
	copy  func(task, host int, after time.Duration)

	mu    sync.Mutex
	done  []bool // of each task
	moved []bool
	when  []float64 // tasks were done, in the paper's seconds
	knee  float64
	there int // tasks that were done at the knee
}

// asked hears of each task that is done, and at a knee moves the others.
func (r *reallocation) asked(q barrier.Question) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Since(r.began).Seconds() * float64(r.scale)
	var i int
	if _, err := fmt.Sscanf(q.Entry.Label, "task-%d", &i); err == nil && !r.done[i] {
		r.done[i] = true
		r.when = append(r.when, now)
	}
	if !q.Knee {
		return q.WouldRelease
	}
	moves := r.move()
	if moves > 0 && r.knee == 0 {
		r.knee, r.there = now, len(r.when)
	}
	return false
}

// move gives tasks that are not done to hosts that are, in order, and returns how many it has moved.
func (r *reallocation) move() (n int) {
	host := 0
	for i := range r.done {
		if r.done[i] || r.moved[i] {
			continue
		}
		for host < len(r.done) && !r.done[host] {
			host++
		}
		if host == len(r.done) {
			break
		}
		takes := copyLeast + (copyMost-copyLeast)*time.Duration(n%10)/9
		r.copy(i, host, takes/r.scale)
		r.moved[i] = true
		host++
		n++
	}
	return n
}

// measureRefinement has all hosts do their tasks, with a barrier that moves tasks at the knee,
// and beside it a barrier that waits for each host to do its own.
func measureRefinement(ctx context.Context, nodes []*cluster.Node, scale int, name string) (s sample, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience+time.Hour/time.Duration(scale))
	defer cancel()
	arrivals := emanArrivals()
	with := barrier.Config{Max: emanHosts, Knee: barrier.Knee{Percent: emanPercent}, Callback: true, CallbackTimeout: time.Minute}
	strict := barrier.Config{Max: emanHosts}
	enter := func(name string, cfg barrier.Config, host, task int) error {
		b, err := barrier.Open(nodes[host%len(nodes)], name, cfg)
		if err == nil {
			_, err = b.Enter(ctx, barrier.Entry{Label: fmt.Sprint("task-", task), Host: fmt.Sprint("host-", host)})
		}
		return err
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	spawn := func(after time.Duration, f func() error) {
		all.Go(func() {
			err := pause(ctx, after)
			if err == nil {
				err = f()
			}
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		})
	}
	r := &reallocation{scale: time.Duration(scale), done: make([]bool, emanHosts), moved: make([]bool, emanHosts)}
	copies := make(chan func(), emanHosts) // the callback itself starts no copy; each task moves once
	r.copy = func(task, host int, after time.Duration) {
		copies <- func() { spawn(after, func() error { return enter(name+"/knee", with, host, task) }) }
	}
	b, err := barrier.Open(nodes[0], name+"/knee", with)
	if err != nil {
		return s, err
	}
	stop, err := b.Watch(ctx, barrier.Callbacks{Enter: r.asked})
	if err != nil {
		return s, err
	}
	defer stop()
	r.began = time.Now()
	var done, slowest float64
	first, last := make(chan struct{}), make(chan struct{})
	spawn(0, func() error { // the sequential phase, which goes on when all tasks are done
		defer close(first)
		err := enter(name+"/knee", with, 0, 0)
		done = time.Since(r.began).Seconds() * float64(scale)
		return err
	})
	spawn(0, func() error {
		defer close(last)
		err := enter(name+"/strict", strict, 0, 0)
		slowest = time.Since(r.began).Seconds() * float64(scale)
		return err
	})
	for i, after := range arrivals[1:] {
		i++
		spawn(after/time.Duration(scale), func() error { return enter(name+"/knee", with, i, i) })
		spawn(after/time.Duration(scale), func() error { return enter(name+"/strict", strict, i, i) })
	}
	for waiting := true; waiting; {
		select {
		case f := <-copies:
			f()
		case <-last:
			waiting = false
		}
	}
	<-first
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return s, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	moved := 0
	for _, m := range r.moved {
		if m {
			moved++
		}
	}
	s = sample{Case: "98 hosts, from 60 %", Values: map[string]float64{nMoved: float64(moved), sDone: done, sSlowest: slowest, speedup: slowest / done},
		Series: map[string][]float64{"tasks moved at the knee": slices.Clone(r.when), "each host does its own": seconds(arrivals)}}
	if moved > 0 {
		s.Values[sKnee], s.Values[nKnee] = r.knee, float64(r.there)
	}
	return s, nil
}

func seconds(all []time.Duration) (s []float64) {
	for _, d := range all {
		s = append(s, d.Seconds())
	}
	return s
}

// startNodes starts n nodes in this process. The caller must call leave.
func startNodes(ctx context.Context, n int) (nodes []*cluster.Node, leave func() error, err error) {
	leave = func() (err error) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		for _, n := range slices.Backward(nodes) {
			err = errors.Join(err, n.Leave(ctx))
		}
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for i := range n {
		c := nodeConfig{Name: fmt.Sprint("node-", i+1)}
		if i > 0 {
			c.Seed = nodes[0].ControlAddr()
		}
		node, err := join(ctx, c)
		if err != nil {
			return nil, leave, errors.Join(err, leave())
		}
		nodes = append(nodes, node)
	}
	for _, node := range nodes {
		if err := joined(ctx, node, n); err != nil {
			return nil, leave, errors.Join(err, leave())
		}
	}
	return nodes, leave, nil
}
