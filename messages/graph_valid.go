package messages

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/workflow"
)

// Validate returns a phalanx.ErrInvalid that says what is wrong with the graph, or nil.
func (g *Graph) Validate() error {
	if n := len(g.Tasks); n == 0 || n > workflow.MaxTasks {
		return invalidGraph("the workflow has %d tasks; 1 to %d are allowed", n, workflow.MaxTasks)
	}
	if err := g.validTables(); err != nil {
		return err
	}
	calls, constants, inputs := 0, 0, 0 // used so far
	for v := range g.Tasks {
		t := &g.Tasks[v]
		if inputs += len(t.Inputs) + len(t.After); inputs > MaxGraphInputs {
			return invalidGraph("the tasks have more than %d inputs", MaxGraphInputs)
		}
		if !use(int64(t.Call), len(g.Calls), &calls) {
			return invalidGraph("task %d has call %d of %d, of which %d are used before", v, t.Call, len(g.Calls), calls)
		}
		for i, p := range t.After {
			if p < 0 || int(p) >= v || i > 0 && p <= t.After[i-1] {
				return invalidGraph("task %d follows the tasks %v, which do not rise below it", v, short(t.After))
			}
		}
		if g.Calls[t.Call].Kind == CallKeep && (len(t.Inputs) != 1 || t.Inputs[0].Kind != InputConstant) {
			return invalidGraph("task %d keeps %d inputs, which are not one constant", v, len(t.Inputs))
		}
		rest, err := t.Inputs, error(nil)
		for len(rest) > 0 && err == nil {
			rest, err = g.validInput(v, rest, &constants, 0)
		}
		if err != nil {
			return err
		}
	}
	if calls != len(g.Calls) || constants != len(g.Constants) {
		return invalidGraph("the graph uses %d of %d calls and %d of %d constants", calls, len(g.Calls), constants, len(g.Constants))
	}
	return nil
}

// validTables checks what tasks refer to.
func (g *Graph) validTables() error {
	calls := make(map[GraphCall]bool, len(g.Calls))
	for i, c := range g.Calls {
		if why := c.wrong(); why != "" {
			return invalidGraph("call %d (%s): %s", i, c, why)
		}
		if calls[c] {
			return invalidGraph("call %d (%s) repeats another one", i, c)
		}
		calls[c] = true
	}
	constants := make(map[string]bool, len(g.Constants))
	for i, b := range g.Constants {
		if len(b) > MaxConstantBytes {
			return invalidGraph("constant %d has %d bytes, more than %d: put it into the store and pass a Ref", i, len(b), MaxConstantBytes)
		}
		if constants[string(b)] {
			return invalidGraph("constant %d repeats another one", i)
		}
		constants[string(b)] = true
	}
	return nil
}

// use notes that an entry of a table is used, and reports whether it may be: the first uses come in order.
func use(i int64, have int, used *int) bool {
	if i < 0 || i >= int64(have) || i > int64(*used) {
		return false
	}
	if i == int64(*used) {
		*used++
	}
	return true
}

// validInput checks the first of inputs, with what is in it, and returns those behind it.
func (g *Graph) validInput(v int, inputs []GraphInput, constants *int, depth int) ([]GraphInput, error) {
	in, rest := inputs[0], inputs[1:]
	switch {
	case in.Kind > lastGraphInputKind:
		return nil, invalidGraph("task %d has an input of kind %d, which is not known", v, in.Kind)
	case in.OfTask() && int64(in.N) >= int64(v):
		return nil, invalidGraph("task %d reads task %d, which does not come before it", v, in.N)
	case in.Kind == InputConstant && !use(int64(in.N), len(g.Constants), constants):
		return nil, invalidGraph("task %d has constant %d of %d, of which %d are used before", v, in.N, len(g.Constants), *constants)
	case in.Kind != InputList:
		return rest, nil
	case depth >= MaxGraphDepth:
		return nil, invalidGraph("task %d has lists in each other deeper than %d", v, MaxGraphDepth)
	}
	for range in.N {
		if len(rest) == 0 {
			return nil, invalidGraph("task %d has a list of %d inputs that ends before", v, in.N)
		}
		var err error
		if rest, err = g.validInput(v, rest, constants, depth+1); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// wrong says what is wrong with a call; "": nothing.
func (c GraphCall) wrong() string {
	for _, s := range []string{c.Name, c.Limit, string(c.Op)} {
		if len(s) > maxGraphName || !utf8.ValidString(s) {
			return fmt.Sprintf("a name has %d bytes and is no UTF-8 of up to %d", len(s), maxGraphName)
		}
	}
	if c.Timeout < 0 || c.Heartbeat < 0 || c.Pause < 0 {
		return "a duration is negative"
	}
	for _, n := range []int{c.Version, c.LimitMost, c.Retries, c.Num} {
		if n < 0 || n > math.MaxInt32 {
			return fmt.Sprintf("the number %d is out of range", n)
		}
	}
	switch {
	case c.Kind > lastGraphKind:
		return fmt.Sprintf("the kind %d is not known", c.Kind)
	case c.Checkpoint > workflow.Off:
		return fmt.Sprintf("the checkpoint %d is not known", c.Checkpoint)
	case c.Effect > workflow.Undo:
		return fmt.Sprintf("the effect %d is not known", c.Effect)
	case (c.Limit == "") != (c.LimitMost == 0):
		return "a limit has a name and a number"
	}
	return c.strange()
}

// strange says which field a call of its kind does not have, or lacks; "": none.
func (c GraphCall) strange() string {
	bare := c
	switch c.Kind {
	case CallFunction:
		if c.Name == "" {
			return "the function has no name"
		}
		bare.Pause, bare.Op, bare.DType, bare.Num = 0, "", 0, 0
	case CallEvent:
		if c.Name == "" {
			return "the event has no name"
		}
		bare = GraphCall{Kind: c.Kind, Name: c.Name}
	case CallSleep:
		bare = GraphCall{Kind: c.Kind, Pause: c.Pause}
	case CallReduce:
		if c.Op == "" {
			return "the reduce has no op"
		}
		if !c.DType.Valid() || c.DType == phalanx.Bytes {
			return fmt.Sprintf("the reduce has no elements of type %v", c.DType)
		}
		bare = GraphCall{Kind: c.Kind, Op: c.Op, DType: c.DType, Num: c.Num, Checkpoint: c.Checkpoint, Effect: c.Effect, Deterministic: c.Deterministic,
			Timeout: c.Timeout, Limit: c.Limit, LimitMost: c.LimitMost, Retries: c.Retries}
	case CallKeep:
		bare = GraphCall{Kind: c.Kind, Checkpoint: c.Checkpoint, Effect: workflow.None, Deterministic: c.Deterministic}
	}
	if bare != c {
		return "it has a field of another kind of call"
	}
	return ""
}

// String returns the call as people read it.
func (c GraphCall) String() string {
	switch c.Kind {
	case CallEvent:
		return fmt.Sprintf("event %q", c.Name)
	case CallSleep:
		return fmt.Sprintf("sleep %v", c.Pause)
	case CallReduce:
		return fmt.Sprintf("reduce %s", c.Op)
	case CallKeep:
		return "keep"
	}
	return fmt.Sprintf("%s@%d", c.Name, c.Version)
}

// Names returns the name of each task in the graph: that of its function, with a number if it is not the
// first of that name.
func (g *Graph) Names() []string {
	all, uses := make([]string, len(g.Tasks)), make(map[string]int, len(g.Calls))
	for v, t := range g.Tasks {
		c := g.Calls[t.Call]
		name := c.Name
		switch c.Kind {
		case CallEvent:
			name = "event " + c.Name
		case CallSleep:
			name = "sleep"
		case CallReduce:
			name = "reduce"
		case CallKeep:
			name = "keep"
		}
		if uses[name]++; uses[name] > 1 {
			all[v] = fmt.Sprintf("%s#%d", name, uses[name])
			continue
		}
		all[v] = name
	}
	return all
}

// FirstDifference says where two graphs differ first; "": they are equal. Both are valid.
func FirstDifference(a, b *Graph) string {
	names := a.Names()
	for v := range min(len(a.Tasks), len(b.Tasks)) {
		x, y := &a.Tasks[v], &b.Tasks[v]
		cx, cy := a.Calls[x.Call], b.Calls[y.Call]
		switch {
		case cx.String() != cy.String():
			return fmt.Sprintf("task %d is %s, and %s", v, cx, cy)
		case cx != cy:
			return fmt.Sprintf("task %d (%s) is annotated in another way: %s", v, names[v], cx.differs(cy))
		}
		if len(x.Inputs) != len(y.Inputs) {
			return fmt.Sprintf("task %d (%s) has %d inputs, and %d", v, names[v], len(x.Inputs), len(y.Inputs))
		}
		for i := range x.Inputs {
			if p, q := a.describe(x.Inputs[i]), b.describe(y.Inputs[i]); p != q {
				return fmt.Sprintf("input %d of task %d (%s) is %s, and %s", i, v, names[v], abridge(p), abridge(q))
			}
		}
		if p, q := fmt.Sprint(x.After), fmt.Sprint(y.After); p != q {
			return fmt.Sprintf("task %d (%s) follows the tasks %s, and %s", v, names[v], abridge(p), abridge(q))
		}
	}
	if len(a.Tasks) != len(b.Tasks) {
		return fmt.Sprintf("there are %d tasks, and %d", len(a.Tasks), len(b.Tasks))
	}
	return ""
}

// differs names an annotation that differs.
func (c GraphCall) differs(d GraphCall) string {
	for _, f := range []struct {
		name string
		x, y any
	}{
		{"deterministic", c.Deterministic, d.Deterministic}, {"checkpoint", c.Checkpoint, d.Checkpoint}, {"effect", c.Effect, d.Effect},
		{"compensation", c.Compensates, d.Compensates}, {"expansion", c.Expands, d.Expands}, {"snapshot", c.Snapshot, d.Snapshot}, {"actors", c.Actors, d.Actors},
		{"timeout", c.Timeout, d.Timeout}, {"heartbeat", c.Heartbeat, d.Heartbeat}, {"limit", c.Limit, d.Limit},
		{"number of the limit", c.LimitMost, d.LimitMost}, {"retries", c.Retries, d.Retries}, {"number of inputs", c.Num, d.Num}, {"element type", c.DType, d.DType},
	} {
		if f.x != f.y {
			return fmt.Sprintf("%s %v, and %v", f.name, f.x, f.y)
		}
	}
	return "unknown"
}

// describe says what an input is, in full.
func (g *Graph) describe(in GraphInput) string {
	switch in.Kind {
	case InputConstant:
		return fmt.Sprintf("the constant %q", g.Constants[in.N])
	case InputList:
		return fmt.Sprintf("a list of %d", in.N)
	case InputRead:
		return fmt.Sprintf("task %d, read only", in.N)
	case InputCaught:
		return fmt.Sprintf("task %d, or its error", in.N)
	}
	return fmt.Sprintf("task %d", in.N)
}

// abridge shortens a text for people.
func abridge(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(s[:most], ""), len(s))
}

func short(all []int32) []int32 { return all[:min(len(all), 8)] }

func invalidGraph(format string, args ...any) error {
	return &phalanx.Error{Op: "workflow", Kind: phalanx.ErrInvalid, Err: fmt.Errorf(format, args...)}
}
