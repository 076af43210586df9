package workflows

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/phalanx-go/phalanx/messages"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// Functions of the run's graph have the version 1, and those of graphs that tasks return the version 2. A task grow@2 returns tasks that
// return no graphs.
const (
	ofRun    = 1
	returned = 2
)

// grower is the function of tasks that return graphs.
const grower = "grow"

// functions are what each node offers.
var functions = []core.Function{core.Reduces, {Name: "f", Version: ofRun}, {Name: "f", Version: returned}, {Name: "g", Version: ofRun}, {Name: "g", Version: returned},
	{Name: grower, Version: ofRun}, {Name: grower, Version: returned}}

// growing is a task that returns a graph.
func growing(c messages.GraphCall) messages.GraphCall {
	return messages.GraphCall{Name: grower, Version: ofRun, Expands: true, Deterministic: c.Deterministic, Checkpoint: c.Checkpoint, Effect: core.None, Retries: c.Retries}
}

// origin is an attempt that returns a graph.
type origin struct {
	call  messages.GraphCall
	saved bool       // the task has a checkpoint
	value uint64     // of the attempt
	refs  []flow.Ref // that the graph names
}

// grown returns the graph that an attempt returns, in its recorded form. The value alone decides what it is.
func (o origin) grown() []byte {
	parent := core.Task{Name: o.call.Name, Deterministic: o.call.Deterministic, Expands: true}
	for i := uint64(0); ; i++ {
		form, err := messages.MarshalGraph(someGraph(rand.New(rand.NewPCG(o.value, i)), &o))
		if err != nil {
			panic(err) // it can be
		}
		w, err := workFrom(form)
		if err != nil {
			panic(err)
		}
		if _, err := core.CheckExpansion(&parent, o.saved, w.Graph); err == nil {
			return form
		}
	}
}

// keep begins the graph with the task that keeps the objects which the graph names.
func (o *origin) keep(g *messages.Graph) {
	if len(o.refs) == 0 {
		return
	}
	form, err := messages.MarshalBundle(binary.BigEndian.AppendUint64(nil, o.value), o.refs)
	if err != nil {
		panic(err)
	}
	c := messages.KeepCall(o.call.Deterministic, !o.saved)
	g.Tasks = append(g.Tasks, messages.GraphTask{Call: callIn(g, c), Inputs: []messages.GraphInput{constantIn(g, form)}})
}

// allowed returns a call that the graph may have.
func (o *origin) allowed(c messages.GraphCall, last bool) messages.GraphCall {
	if c.Kind != messages.CallFunction && (last || !o.saved || o.call.Deterministic && c.Kind == messages.CallEvent) {
		c = messages.GraphCall{Name: "f", Deterministic: true, Effect: core.None}
	}
	if c.Kind != messages.CallFunction {
		return c
	}
	if c.Retries == 1 { // too many runs would fail
		c.Retries = 0
	}
	if c.Version = returned; c.Expands && o.call.Version == returned {
		c.Name, c.Expands = "f", false
	}
	c.Deterministic = c.Deterministic || o.call.Deterministic
	if c.Deterministic || last {
		c.Actors, c.Snapshot = false, false
	}
	if !o.saved {
		c.Checkpoint, c.Effect, c.Compensates = core.Off, core.None, false
	}
	return c
}

// inputs gives a task of the graph constants, and the last one reads or follows all that nobody has read.
func (o *origin) inputs(r *rand.Rand, g *messages.Graph, t *messages.GraphTask, read func(p int), used []bool, last bool) {
	if last {
		for p := range used {
			switch {
			case used[p]:
			case r.IntN(4) == 0:
				t.After = append(t.After, int32(p))
			default:
				read(p)
			}
		}
	}
	if len(t.Inputs) == 0 || r.IntN(2) == 0 {
		b := make([]byte, 8)
		if o.value>>16%32 == 0 { // two of them are more than a record has
			b = make([]byte, 40<<10)
		}
		binary.BigEndian.PutUint64(b, o.value+r.Uint64N(2))
		t.Inputs = append(t.Inputs, constantIn(g, b))
	}
}

// callIn returns the number of a call of a graph.
func callIn(g *messages.Graph, c messages.GraphCall) int32 {
	i := slices.Index(g.Calls, c)
	if i < 0 {
		i = len(g.Calls)
		g.Calls = append(g.Calls, c)
	}
	return int32(i)
}

// constantIn returns a constant of a graph as an input.
func constantIn(g *messages.Graph, b []byte) messages.GraphInput {
	i := slices.IndexFunc(g.Constants, func(c []byte) bool { return string(c) == string(b) })
	if i < 0 {
		i = len(g.Constants)
		g.Constants = append(g.Constants, b)
	}
	return messages.GraphInput{Kind: messages.InputConstant, N: uint32(i)}
}

// constantValue returns the value of a constant.
func constantValue(b []byte) uint64 { return binary.BigEndian.Uint64(b) }

// grew is what an attempt has returned.
type grew struct {
	inputs []uint64
	answer uint64
	form   string
}

// grow returns the graph of an attempt. One of a deterministic task depends on its inputs alone.
func (a *attempt) grow(answer uint64, refs []flow.Ref) *core.Work {
	h, o := a.h, a.order
	job := o.Of.(*messages.Job)
	if refs = slices.Clone(refs); job.Object && job.Call.Deterministic { // without checkpoints the run would be stuck if they are lost
		refs = nil
	}
	slices.SortFunc(refs, func(x, y flow.Ref) int { return cmp.Compare(x.Object, y.Object) })
	refs = slices.CompactFunc(refs, func(x, y flow.Ref) bool { return x.Object == y.Object })
	form := origin{job.Call, !job.Object, answer, refs}.grown()
	h.Met("workflow: task returns a graph")
	if job.Call.Version == returned {
		h.Met("workflow: task of a returned graph returns a graph")
	}
	if len(refs) > 0 {
		h.Met("workflow: returned graph names an object")
	}
	h.outside.run(o.ID.Run).grew[attemptOf{o.ID.Run, o.ID.Task, o.Gen, o.ID.Attempt}] = grew{a.values, answer, string(form)}
	if job.Call.Deterministic {
		key := fmt.Sprint(o.ID.Run, o.ID.Task, a.values)
		if old, is := h.outside.same[key]; is && old != string(form) {
			h.Fail("(1) %+v, which is deterministic, returns another graph than before", o.ID)
		}
		h.outside.same[key] = string(form)
	}
	return &core.Work{Parts: core.CutForm(form)}
}

// keep passes on the objects of a constant, which have to be there.
func (a *attempt) keep() {
	h, job := a.h, a.order.Of.(*messages.Job)
	b, refs, err := messages.UnmarshalBundle(job.Constants[job.Args[0].N])
	if err != nil {
		h.Fail("the constant of %+v: %v", a.order.ID, err)
	}
	a.open()
	a.named.Given(refs)
	var gone []flow.Ref
	a.get(refs, func(r flow.Ref, then func(bool)) {
		h.later(h.Upto(5*ms), func() {
			is := len(h.store.holders(r.Object)) == 0
			if gone = slices.DeleteFunc(gone, func(o flow.Ref) bool { return o.Object == r.Object }); is {
				gone = append(gone, r)
			}
			then(is)
		})
	}, func() {
		switch {
		case h.p.Refuses():
			a.end(core.AttemptEnded{Failed: "the node is leaving", Lost: true})
		case len(gone) > 0:
			h.Met("workflow: objects that a returned graph names are gone")
			a.end(core.AttemptEnded{Failed: fmt.Sprintf("nobody has %s, which the run was given", gone[0].Object)})
		default:
			h.Met("workflow: objects that a returned graph names are kept")
			a.end(a.made(core.AttemptEnded{Output: core.Output{Recorded: true}}, constantValue(b), refs))
		}
	})
}

// mayBegin checks that a task of a returned graph begins once the graph is recorded. One whose parent has no checkpoint has neither
// checkpoint nor effect, and may begin before.
func (c *checker) mayBegin(o core.Order, job *messages.Job) {
	name := core.Function{Name: job.Call.Name, Version: job.Call.Version}
	if o.Function != name {
		c.s.Fail("(1) %+v is asked to run %v, and its graph says %v", o.ID, o.Function, name)
	}
	if job.Call.Version != returned && job.Call.Kind != messages.CallKeep {
		return
	}
	c.s.Met("workflow: attempt of a task of a returned graph")
	if job.Call.Effect == core.None && job.Call.Checkpoint == core.Off {
		return
	}
	if !slices.ContainsFunc(c.grown[o.ID.Run], func(e core.Expanded) bool { return o.ID.Task >= e.First && o.ID.Task < e.First+len(c.graphOf(e).Tasks) }) {
		c.s.Fail("(9) task %d of %s begins before the graph that it is of is recorded", o.ID.Task, o.ID.Run)
	}
}

// signalsOf returns the names of the signals that a run may wait for.
func signalsOf(g *messages.Graph) (all []string) {
	for _, c := range g.Calls {
		switch {
		case c.Kind == messages.CallEvent:
			all = append(all, c.Name)
		case c.Expands:
			return []string{"a", "b", "c"}
		}
	}
	return all
}

// madeAgain notes which kinds of tasks are made again.
func (c *checker) madeAgain(u core.UID, set []int) {
	for _, e := range c.grown[u] {
		for _, v := range set {
			switch {
			case v == e.Task:
				c.s.Met("workflow: returned graph dropped")
			case v >= e.First && v < e.First+len(c.graphOf(e).Tasks):
				c.s.Met("workflow: task of a returned graph is made again")
			}
		}
	}
}

// acts notes what outsiders see of a task of a returned graph.
func (s *service) acts(o core.Order, call messages.GraphCall) {
	switch {
	case call.Version != returned || call.Effect == core.None:
	case o.Kind == core.TakeBack:
		s.Met("workflow: effect in a returned graph taken back")
	case o.Kind == core.Do:
		s.Met("workflow: effect in a returned graph")
	}
}
