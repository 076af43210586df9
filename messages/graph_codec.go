package messages

import (
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/workflow"
)

// graphFormat is the form in which graphs are recorded. It rises with each field whose meaning a run depends
// on: a node that does not know the field must not run the graph.
const graphFormat = 1

// inputBits of a recorded input are its kind.
const inputBits = 3

// MarshalGraph returns the recorded form of a graph: equal graphs have equal bytes. It fails with
// phalanx.ErrInvalid if the graph is not valid or too large.
func MarshalGraph(g *Graph) ([]byte, error) {
	if err := g.Validate(); err != nil {
		return nil, err
	}
	m := &WorkflowGraph{Format: graphFormat, Constants: g.Constants, Calls: make([]*WorkflowCall, len(g.Calls)), Tasks: make([]*WorkflowTask, len(g.Tasks))}
	for i, c := range g.Calls {
		m.Calls[i] = &WorkflowCall{Kind: uint32(c.Kind), Name: c.Name, Version: uint32(c.Version), Deterministic: c.Deterministic, Checkpoint: uint32(c.Checkpoint),
			Effect: uint32(c.Effect), Compensates: c.Compensates, Expands: c.Expands, Snapshot: c.Snapshot, Timeout: int64(c.Timeout), Heartbeat: int64(c.Heartbeat),
			Limit: c.Limit, LimitMost: uint32(c.LimitMost), Retries: uint32(c.Retries), Pause: int64(c.Pause), Op: string(c.Op), Num: uint32(c.Num), Dtype: uint32(c.DType), Actors: c.Actors}
	}
	tasks := make([]WorkflowTask, len(g.Tasks))
	for v := range g.Tasks {
		from, t := &g.Tasks[v], &tasks[v]
		t.Call, m.Tasks[v] = uint32(from.Call), t
		if len(from.Inputs) > 0 {
			t.Inputs = make([]uint32, len(from.Inputs))
		}
		for i, in := range from.Inputs {
			t.Inputs[i] = in.N<<inputBits | uint32(in.Kind)
		}
		if len(from.After) > 0 {
			t.After = make([]uint32, len(from.After))
		}
		for i, p := range from.After {
			t.After[i] = uint32(p)
		}
	}
	if n := proto.Size(m); n > MaxGraphBytes {
		return nil, invalidGraph("the workflow has %d bytes, more than %d: put constants into the store and pass Refs", n, MaxGraphBytes)
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

// UnmarshalGraph is the inverse of MarshalGraph. Bytes that MarshalGraph does not make fail: with phalanx.ErrInvalid if
// the graph is beyond a limit, or has what only later versions know, else with phalanx.ErrInternal.
func UnmarshalGraph(b []byte) (*Graph, error) {
	if err := countGraph(b); err != nil {
		return nil, err
	}
	m := &WorkflowGraph{}
	if err := proto.Unmarshal(b, m); err != nil {
		return nil, broken("a workflow: %w", err)
	}
	if m.Format != graphFormat || unknown(m) {
		return nil, invalidGraph("the workflow has format %d, or fields that this version does not know; it reads format %d: update this node", m.Format, graphFormat)
	}
	f := &fields{}
	g := &Graph{Constants: m.Constants, Calls: make([]GraphCall, len(m.Calls)), Tasks: make([]GraphTask, len(m.Tasks))}
	for i, c := range m.Calls {
		if unknown(c) {
			return nil, invalidGraph("call %d has fields that this version does not know: update this node", i)
		}
		g.Calls[i] = GraphCall{Kind: GraphKind(narrow(f, "call.kind", c.Kind)), Name: c.Name, Version: f.index("call.version", c.Version), Deterministic: c.Deterministic,
			Checkpoint: workflow.Checkpoint(narrow(f, "call.checkpoint", c.Checkpoint)), Effect: workflow.Effect(narrow(f, "call.effect", c.Effect)),
			Compensates: c.Compensates, Expands: c.Expands, Snapshot: c.Snapshot, Timeout: time.Duration(c.Timeout), Heartbeat: time.Duration(c.Heartbeat),
			Limit: c.Limit, LimitMost: f.index("call.limit_most", c.LimitMost), Retries: f.index("call.retries", c.Retries),
			Pause: time.Duration(c.Pause), Op: phalanx.Op(c.Op), Num: f.index("call.num", c.Num), DType: phalanx.DType(narrow(f, "call.dtype", c.Dtype)), Actors: c.Actors}
	}
	for v, t := range m.Tasks {
		if unknown(t) {
			return nil, invalidGraph("task %d has fields that this version does not know: update this node", v)
		}
		to := &g.Tasks[v]
		to.Call = int32(f.index("task.call", t.Call))
		if len(t.Inputs) > 0 {
			to.Inputs = make([]GraphInput, len(t.Inputs))
		}
		for i, in := range t.Inputs {
			to.Inputs[i] = GraphInput{Kind: GraphInputKind(in & (1<<inputBits - 1)), N: in >> inputBits}
		}
		if len(t.After) > 0 {
			to.After = make([]int32, len(t.After))
		}
		for i, p := range t.After {
			to.After[i] = int32(f.index("task.after", p))
		}
	}
	if f.err != nil {
		return nil, f.err
	}
	return g, g.Validate()
}

// numbersOfTask is how many numbers the form of a task has beside its inputs, at most: its length, and tags, lengths and the
// call in it.
const numbersOfTask = 8

// countGraph checks the size of what bytes hold before memory is allocated for it.
func countGraph(b []byte) error {
	if len(b) > MaxGraphBytes {
		return invalidGraph("the workflow has %d bytes, more than %d", len(b), MaxGraphBytes)
	}
	var counts [5]int
	numbers := 0 // in tasks: each ends with a byte below 0x80
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return broken("a workflow: %w", protowire.ParseError(n))
		}
		b = b[n:]
		if n = protowire.ConsumeFieldValue(num, typ, b); n < 0 {
			return broken("a workflow: %w", protowire.ParseError(n))
		}
		if num == 4 {
			for _, c := range b[:n] {
				if c < 0x80 {
					numbers++
				}
			}
		}
		b = b[n:]
		if int(num) < len(counts) {
			counts[num]++
		}
	}
	if most := MaxGraphInputs + numbersOfTask*counts[4]; numbers > most {
		return invalidGraph("the tasks have more than %d inputs", MaxGraphInputs)
	}
	for _, num := range []protoreflect.FieldNumber{2, 3, 4} {
		if counts[num] > workflow.MaxTasks {
			return invalidGraph("the workflow has %d tasks, calls or constants, more than %d", counts[num], workflow.MaxTasks)
		}
	}
	return nil
}

// narrow decodes a value of an enumeration that Validate checks.
func narrow(f *fields, name string, n uint32) uint8 {
	if n > math.MaxUint8 {
		f.bad(name, "%w", fmt.Errorf("the value %d is not known", n))
	}
	return uint8(n)
}

// unknown reports whether a message has fields of a later version.
func unknown(m proto.Message) bool { return len(m.ProtoReflect().GetUnknown()) > 0 }
