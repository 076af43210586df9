package workflows

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"github.com/phalanx-go/phalanx/messages"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// story is what the durable records of a run say.
type story struct {
	all     map[int]*fold // by task
	signals map[string]core.Signalled
	closed  *core.Closed
}

// fold is what the records of a run say about a task.
type fold struct {
	began, ended, compensated bool
	output                    core.Output
	made                      core.Attempt
	grown                     *core.Expanded // the graph that it has returned, unless that was dropped
}

// of returns what is known of a task.
func (st *story) of(v int) *fold {
	if st.all[v] == nil {
		st.all[v] = &fold{}
	}
	return st.all[v]
}

// records returns what the durable records of a run say.
func (c *checker) records(rows map[string]string, u core.UID) *story {
	st := &story{all: map[int]*fold{}, signals: map[string]core.Signalled{}}
	prefix := "run/" + u.String() + "/log/"
	var part []core.Record
	epoch := uint64(0)
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		v, err := messages.UnmarshalRow([]byte(rows[key]), core.MaxTasks)
		if err != nil {
			c.s.Fail("row %s: %v", key, err)
		}
		b := v.(core.Batch)
		if b.Epoch != epoch {
			part, epoch = nil, b.Epoch
		}
		if part = append(part, b.Records...); b.More {
			continue
		}
		for _, rec := range core.Whole(part) {
			c.take(st, rec)
		}
		part = nil
	}
	return st
}

func (c *checker) take(st *story, rec core.Record) {
	switch rec := rec.(type) {
	case core.Begun:
		st.of(rec.Task).began = true
	case core.Ended:
		f := st.of(rec.Task)
		f.ended, f.output, f.made = true, rec.Output, rec.Attempt
	case core.Expanded:
		st.of(rec.Task).grown = &rec
		for l := range c.graphOf(rec).Tasks { // the task may have returned another graph before, under these numbers
			delete(st.all, rec.First+l)
		}
	case core.Recovering:
		for _, v := range rec.Set {
			st.of(v).ended, st.of(v).grown = false, nil
		}
	case core.Signalled:
		st.signals[rec.Name] = rec
	case core.Compensated:
		st.of(rec.Task).compensated = true
	case core.Closed:
		st.closed = &rec
	}
}

// graphOf returns the graph of a record.
func (c *checker) graphOf(e core.Expanded) *messages.Graph {
	g, err := messages.UnmarshalGraph([]byte(formOf(e)))
	if err != nil {
		c.s.Fail("the graph that task %d has returned: %v", e.Task, err)
	}
	return g
}

// formOf returns the recorded form of the graph of a record.
func formOf(e core.Expanded) string {
	w, _ := e.Work.(*core.Work)
	if w == nil {
		return ""
	}
	return string(bytes.Join(w.Parts, nil))
}

// job is a task of a run, as its graph has it.
type job struct {
	number, base, owner int // owner: the task that has returned its graph; -1: it is the run's
	last                bool
	graph               *messages.Graph
	task                messages.GraphTask
	call                messages.GraphCall
}

// plot are the tasks of a run, with those of the graphs that tasks have returned.
type plot struct {
	*story
	c    *checker
	r    *run
	jobs map[int]*job
}

func (c *checker) plotOf(r *run, st *story) *plot {
	p := &plot{st, c, r, map[int]*job{}}
	p.add(r.graph, 0, -1)
	return p
}

func (p *plot) add(g *messages.Graph, base, owner int) {
	for l, t := range g.Tasks {
		j := &job{number: base + l, base: base, owner: owner, last: l == len(g.Tasks)-1, graph: g, task: t, call: g.Calls[t.Call]}
		if p.jobs[j.number] != nil {
			p.c.s.Fail("(1) two tasks of %s have the number %d", p.r.id, j.number)
		}
		p.jobs[j.number] = j
	}
	for l := range g.Tasks {
		if e := p.of(base + l).grown; e != nil {
			p.add(p.c.graphOf(*e), e.First, base+l)
		}
	}
}

// maker returns the task that makes the output of v: the last one of the graph that v has returned, if it has.
func (p *plot) maker(v int) int {
	for e := p.of(v).grown; e != nil; e = p.of(v).grown {
		v = e.First + len(p.c.graphOf(*e).Tasks) - 1
	}
	return v
}

// inputs returns the values of what a task has read.
func (p *plot) inputs(j *job) (inputs []uint64) {
	for _, in := range j.task.Inputs {
		if !in.OfTask() {
			inputs = append(inputs, constantValue(j.graph.Constants[in.N]))
			continue
		}
		v := p.maker(j.base + int(in.N))
		o, call := p.of(v).output, p.jobs[v].call
		value, is := p.c.s.outside.values[o.Digest]
		switch {
		case o.Error != "":
			value = ofError
		case call.Kind == messages.CallSleep:
			value = ofSleep
		case call.Kind == messages.CallEvent:
			value = binary.BigEndian.Uint64(p.signals[call.Name].Bytes)
		case !is:
			p.c.s.Fail("the output of %d of %s is none that an attempt has made", v, p.r.id)
		}
		inputs = append(inputs, value)
	}
	return inputs
}

// follows reports whether a task reads or follows one of its graph.
func (j *job) follows(p *job) bool {
	is := func(n int) bool { return j.base+n == p.number }
	return j.base == p.base && (slices.ContainsFunc(j.task.Inputs, func(in messages.GraphInput) bool { return in.OfTask() && is(int(in.N)) }) ||
		slices.ContainsFunc(j.task.After, func(n int32) bool { return is(int(n)) }))
}

// irreversibleBelow reports whether a task that comes after v has begun, and nothing takes it back. What follows a graph that a task
// has returned follows its last task, and all of the graph what the task has followed.
func (p *plot) irreversibleBelow(v int) bool {
	below, todo := map[int]bool{v: true}, []int{v}
	for len(todo) > 0 {
		at := p.jobs[todo[0]]
		todo = todo[1:]
		add := func(n int) {
			if !below[n] {
				below[n] = true
				todo = append(todo, n)
			}
		}
		for n, j := range p.jobs {
			if j.follows(at) || j.owner == at.number {
				add(n)
			}
		}
		for at.owner >= 0 && at.last {
			at = p.jobs[at.owner]
			for n, j := range p.jobs {
				if j.follows(at) {
					add(n)
				}
			}
		}
	}
	for n := range below {
		if j := p.jobs[n]; n != v && p.of(n).began && j.call.Kind == messages.CallFunction && j.call.Effect == core.Idempotent {
			return true
		}
	}
	return false
}

// run checks that effects are those of one run without failures; or, if the run has gone back, those that nothing takes
// back and what is above them.
func (c *checker) run(rows map[string]string, r *run) {
	st := c.records(rows, r.uid)
	if st.closed == nil {
		c.s.Fail("(14) run %s has a result, and its end is not recorded", r.id)
	}
	if (st.closed.Failed == "") != (r.result.Failed == "") {
		c.s.Fail("(2) run %s ends with %q, and %q is recorded", r.id, r.result.Failed, st.closed.Failed)
	}
	for name, g := range r.signals {
		if g.taken != "" && st.signals[name].ID != g.taken {
			c.s.Fail("(2) the signal %s %q of %s was acknowledged, and %q is recorded", name, g.taken, r.id, st.signals[name].ID)
		}
	}
	p, seen := c.plotOf(r, st), c.s.outside.run(r.uid)
	for _, v := range slices.Sorted(maps.Keys(seen.journal)) {
		if len(seen.journal[v]) > 0 && p.jobs[v] == nil {
			c.s.Fail("(1) the effect of %d of %s is left, which is of no graph that the run has", v, r.id)
		}
	}
	for _, v := range slices.Sorted(maps.Keys(p.jobs)) {
		c.task(p, p.jobs[v], seen)
	}
}

// task checks a task of a run that is over.
func (c *checker) task(p *plot, j *job, seen *seen) {
	v, call, r := j.number, j.call, p.r
	if call.Kind == messages.CallEvent || call.Kind == messages.CallSleep {
		return
	}
	left, f := seen.journal[v], p.of(v)
	caught := f.ended && f.output.Error != ""
	if p.closed.Failed != "" {
		stays := call.Effect == core.Idempotent || p.irreversibleBelow(v)
		if len(left) > 0 && (!stays || call.Compensates && f.ended && !caught) {
			c.s.Fail("(1) the effect of %d of %s is left, which has failed: %s", v, r.id, p.closed.Failed)
		}
		return
	}
	if !f.ended && f.grown == nil {
		c.s.Fail("(14) %d of %s has not ended, and the run has ended well", v, r.id)
	}
	if caught {
		if call.Effect == core.Undo && len(left) > 0 {
			c.s.Fail("(1) %d of %s has failed, and its effect is left", v, r.id)
		}
		return
	}
	if call.Effect != core.None && len(left) != 1 {
		c.s.Fail("(1) outsiders see %d effects of %d of %s: %+v", len(left), v, r.id, left)
	}
	if call.Kind == messages.CallKeep {
		if b, _, err := messages.UnmarshalBundle(j.graph.Constants[j.task.Inputs[0].N]); err != nil || c.s.outside.values[f.output.Digest] != constantValue(b) {
			c.s.Fail("(1) %d of %s has not kept what it was given: %v", v, r.id, err)
		}
		return
	}
	inputs := p.inputs(j)
	if call.Kind == messages.CallReduce {
		c.reduced(p, j, seen, inputs)
		return
	}
	want := hash(v, true, core.Attempt{}, inputs)
	if call.Expands {
		c.returned(p, j, seen, inputs, want)
		return
	}
	if of := seen.madeOf[c.s.outside.values[f.output.Digest]]; !slices.Equal(of, inputs) {
		c.s.Fail("(1) the output of %d of %s is made of %x, and recorded is %x", v, r.id, of, inputs)
	}
	for _, e := range left {
		if !slices.Equal(e.inputs, inputs) || c.s.outside.values[f.output.Digest] != e.answer {
			c.s.Fail("(1) the effect of %d of %s is %x of %x, and recorded is %x of %x", v, r.id, e.answer, e.inputs, f.output.Digest, inputs)
		}
	}
	if call.Deterministic && c.s.outside.values[f.output.Digest] != want {
		c.s.Fail("(1) the output of %d of %s is not that of a run without faults", v, r.id)
	}
}

// reduced checks that a reduce has combined as many outputs as it is to, and none but those that its tasks have in the end.
func (c *checker) reduced(p *plot, j *job, seen *seen, inputs []uint64) {
	of, rest := seen.madeOf[c.s.outside.values[p.of(j.number).output.Digest]], inputs
	for _, value := range of {
		i := slices.Index(rest, value)
		if i < 0 {
			c.s.Fail("(1) the output of %d of %s is made of %x, and the tasks that it reads have made %x", j.number, p.r.id, of, inputs)
		}
		rest = rest[i+1:]
	}
	if len(of) < max(1, j.call.Num) {
		c.s.Fail("(1) %d of %s combines %d outputs, and is to combine %d", j.number, p.r.id, len(of), j.call.Num)
	}
	if len(of) < len(inputs) {
		c.s.Met("workflow: run ends with a reduce of some inputs")
	}
}

// returned checks that the run has gone on with a graph that an attempt has returned, of the inputs that the task has.
func (c *checker) returned(p *plot, j *job, seen *seen, inputs []uint64, want uint64) {
	e := p.of(j.number).grown
	if e == nil {
		c.s.Fail("(1) %d of %s, which is to return a graph, has an output", j.number, p.r.id)
	}
	g, is := seen.grew[attemptOf{p.r.uid, j.number, e.Gen, e.Attempt}]
	if !is || g.form != formOf(*e) {
		c.s.Fail("(1) %d of %s has returned another graph than is recorded", j.number, p.r.id)
	}
	if !slices.Equal(g.inputs, inputs) || j.call.Deterministic && g.answer != want {
		c.s.Fail("(1) the graph of %d of %s is of the inputs %x, and those are %x", j.number, p.r.id, g.inputs, inputs)
	}
	c.s.Met("workflow: run ends with a returned graph")
}
