package workflow

import (
	"errors"
	"fmt"
	"slices"

	"github.com/phalanx-go/phalanx/messages"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// program is a workflow on its way from steps to its recorded form.
type program struct {
	tasks     *Registry // for tasks that are only named; nil: none
	graph     messages.Graph
	index     map[*node]int
	calls     map[messages.GraphCall]int32
	constants map[string]uint32
	keeps     map[uint32]uint32 // by constant with Refs: the task that keeps it
	refs      map[Ref]bool      // in constants
	most      int               // tasks that it may have
	parent    promise           // of the task that returns it: its tasks without a function promise no less
}

// recorded returns the recorded form of the workflow that ends with root. Tasks are numbered in the order in which the
// root's arguments lead to them, each after those that it needs itself.
func recorded(root *node, tasks *Registry) (*messages.Graph, error) {
	p := programOf(tasks)
	if err := p.record(root, core.MaxTasks); err != nil {
		return nil, err
	}
	return &p.graph, nil
}

func programOf(tasks *Registry) *program {
	return &program{tasks: tasks, index: map[*node]int{}, calls: map[messages.GraphCall]int32{}, constants: map[string]uint32{}, keeps: map[uint32]uint32{}, refs: map[Ref]bool{}}
}

// record records the workflow that ends with root, of so many tasks at most.
func (p *program) record(root *node, most int) error {
	type visit struct {
		n    *node
		next []*node // that n needs and are not visited yet
	}
	p.most = most
	if root == nil {
		return invalid("workflow", fmt.Errorf("a step is zero: bind a task"))
	}
	stack := []visit{{root, root.needs()}}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if len(top.next) > 0 {
			n := top.next[0]
			top.next = top.next[1:]
			if n == nil {
				return invalid("workflow", fmt.Errorf("a step that others read or follow is zero: bind a task"))
			}
			if _, known := p.index[n]; !known {
				stack = append(stack, visit{n, n.needs()})
			}
			continue
		}
		n := top.n
		stack = stack[:len(stack)-1]
		if _, known := p.index[n]; known { // by another way meanwhile
			continue
		}
		if err := p.add(n); err != nil {
			return err
		}
	}
	return p.graph.Validate()
}

// needs returns the steps that n reads or follows, with repeats.
func (n *node) needs() (all []*node) {
	for _, in := range n.in {
		in.steps(func(s *node) { all = append(all, s) })
	}
	return append(all, n.after...)
}

// steps calls f with each step of an argument.
func (in input) steps(f func(*node)) {
	if in.value == nil && in.all == nil {
		f(in.step)
	}
	for _, i := range in.all {
		i.steps(f)
	}
}

// add adds a step whose needs are all there.
func (p *program) add(n *node) error {
	call, err := n.call(p.tasks)
	if err != nil {
		return err
	}
	var t messages.GraphTask
	for _, in := range n.in {
		if t.Inputs, err = p.inputs(t.Inputs, in); err != nil {
			return invalid("workflow", fmt.Errorf("an argument of %s: %w", call, err))
		}
	}
	for _, s := range n.after {
		t.After = append(t.After, int32(p.index[s]))
	}
	slices.Sort(t.After)
	t.After = slices.Compact(t.After)
	p.index[n], err = p.task(call, t)
	return err
}

// task adds a task whose inputs are there, and returns its number.
func (p *program) task(call messages.GraphCall, t messages.GraphTask) (int, error) {
	if len(p.graph.Tasks) == p.most {
		return 0, &CheckError{Rule: core.Shape, Why: fmt.Sprintf("the workflow has more than %d tasks", p.most), Fix: "have tasks return workflows of their own"}
	}
	c, known := p.calls[call]
	if !known {
		c = int32(len(p.graph.Calls))
		p.calls[call] = c
		p.graph.Calls = append(p.graph.Calls, call)
	}
	t.Call = c
	p.graph.Tasks = append(p.graph.Tasks, t)
	return len(p.graph.Tasks) - 1, nil
}

// inputs appends an argument, with what is in it.
func (p *program) inputs(to []messages.GraphInput, in input) ([]messages.GraphInput, error) {
	switch {
	case in.value != nil:
		c, err := p.constant(in.value)
		return append(to, c), err
	case in.step != nil:
		kind := [...]messages.GraphInputKind{modePlain: messages.InputTask, modeRead: messages.InputRead, modeCaught: messages.InputCaught}[in.mode]
		return append(to, messages.GraphInput{Kind: kind, N: uint32(p.index[in.step])}), nil
	}
	to = append(to, messages.GraphInput{Kind: messages.InputList, N: uint32(len(in.all))})
	for _, i := range in.all {
		var err error
		if to, err = p.inputs(to, i); err != nil {
			return nil, err
		}
	}
	return to, nil
}

// constant returns a constant as an input. One with Refs goes through a task, which has a checkpoint with their objects.
func (p *program) constant(c *constant) (in messages.GraphInput, err error) {
	if c.codec.actors != nil {
		return in, errors.New("an actor is no constant: a task makes it")
	}
	b, err := c.codec.encode(c.value)
	if err != nil {
		return in, err
	}
	var refs []Ref
	if err := c.codec.finds.find(c.value, func(r Ref) error {
		if !r.IsZero() {
			p.refs[r] = true
			refs = append(refs, r)
		}
		return nil
	}); err != nil {
		return in, err
	}
	if len(refs) > 0 && !c.borrowed {
		return p.keep(b, refs)
	}
	n, err := p.number(b)
	return messages.GraphInput{Kind: messages.InputConstant, N: n}, err
}

// number returns the number of a constant.
func (p *program) number(b []byte) (uint32, error) {
	if len(b) > messages.MaxConstantBytes {
		return 0, fmt.Errorf("a constant has %d bytes, more than %d: put it into the store and pass the Ref", len(b), messages.MaxConstantBytes)
	}
	n, known := p.constants[string(b)]
	if !known {
		n = uint32(len(p.graph.Constants))
		p.constants[string(b)] = n
		p.graph.Constants = append(p.graph.Constants, slices.Clone(b))
	}
	return n, nil
}

// call returns what a step runs, and what it promises.
func (n *node) call(tasks *Registry) (messages.GraphCall, error) {
	if n.kind == messages.CallEvent || n.kind == messages.CallSleep {
		c := messages.GraphCall{Kind: n.kind, Name: n.name, Pause: n.pause}
		if n.promise != (promise{}) {
			return c, invalid("workflow", fmt.Errorf("%s has annotations: only tasks and Reduces have them", c))
		}
		return c, nil
	}
	p := n.promise
	if n.kind == messages.CallReduce {
		c := messages.GraphCall{Kind: n.kind, Op: n.op, DType: n.dtype, Num: n.num, Deterministic: p.deterministic, Checkpoint: p.checkpoint, Effect: p.effect,
			Timeout: p.timeout, Limit: p.limit, LimitMost: p.limitMost, Retries: p.retries}
		if p.effect != core.None || p.snapshot || p.heartbeat != 0 || p.idempotent {
			return c, invalid("workflow", fmt.Errorf("%s has annotations other than those of checkpoints, Timeout, Limit and Retry", c))
		}
		if p.deterministic && n.shows {
			return c, &CheckError{Rule: core.Deterministic, Path: []string{c.String()}, Why: "a reduce of floats, of some inputs, or by an op of the application depends on the order in which its inputs arrive",
				Fix: "leave Deterministic away"}
		}
		return c, nil
	}
	t := n.task
	compensates, expands := t.compensate != nil, t.expands
	if t.named {
		if known, err := tasks.find(t.name, t.version); err == nil {
			compensates, expands = known.compensate != nil, known.expands
			p = known.promise
			for _, o := range t.options {
				o(&p)
			}
		}
	}
	return messages.GraphCall{Name: t.name, Version: t.version, Deterministic: p.deterministic, Checkpoint: p.checkpoint, Effect: p.effect,
		Compensates: compensates, Expands: expands, Actors: t.makes.actors != nil, Snapshot: p.snapshot, Timeout: p.timeout, Heartbeat: p.heartbeat,
		Limit: p.limit, LimitMost: p.limitMost, Retries: p.retries}, nil
}

// supplies returns the arguments of a task of a recorded graph. The outputs of other tasks come from output.
func supplies(g *messages.Graph, v int, output func(task int) (given, error)) ([]supply, error) {
	rest := g.Tasks[v].Inputs
	var all []supply
	for len(rest) > 0 {
		s, behind, err := supplyOf(g, rest, output)
		if err != nil {
			return nil, err
		}
		all, rest = append(all, s), behind
	}
	return all, nil
}

// supplyOf returns the first argument of inputs, and the inputs behind it. Their depth was checked.
func supplyOf(g *messages.Graph, inputs []messages.GraphInput, output func(task int) (given, error)) (supply, []messages.GraphInput, error) {
	in, rest := inputs[0], inputs[1:]
	switch {
	case in.OfTask():
		out, err := output(int(in.N))
		out.reads = in.Kind == messages.InputRead
		return supply{given: out}, rest, err
	case in.Kind == messages.InputConstant:
		return supply{given: given{bytes: g.Constants[in.N]}}, rest, nil
	}
	list := supply{isList: true, list: make([]supply, in.N)}
	for i := range list.list {
		var err error
		if list.list[i], rest, err = supplyOf(g, rest, output); err != nil {
			return list, nil, err
		}
	}
	return list, rest, nil
}
