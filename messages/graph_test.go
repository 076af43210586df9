package messages

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/workflow"
)

// aGraph returns a graph that has every field of every kind of call and input.
func aGraph() *Graph {
	return &Graph{
		Calls: []GraphCall{
			{Name: "draw", Version: 1, Deterministic: true, Checkpoint: workflow.Off, Effect: workflow.Undo, Compensates: true, Expands: true, Actors: true, Snapshot: true,
				Timeout: 1, Heartbeat: 2, Limit: "gpu", LimitMost: 3, Retries: 4},
			{Kind: CallEvent, Name: "approve"},
			{Kind: CallSleep, Pause: 5},
			{Kind: CallReduce, Op: phalanx.Sum, DType: phalanx.Float32, Num: 1, Effect: workflow.None},
			{Name: "use", Effect: workflow.None},
			{Kind: CallKeep, Deterministic: true, Effect: workflow.None},
		},
		Constants: [][]byte{[]byte("one"), []byte("two")},
		Tasks: []GraphTask{
			{Call: 0, Inputs: []GraphInput{{InputConstant, 0}}},
			{Call: 1, After: []int32{0}},
			{Call: 2},
			{Call: 3, Inputs: []GraphInput{{InputTask, 0}}},
			{Call: 4, Inputs: []GraphInput{{InputList, 3}, {InputRead, 0}, {InputList, 0}, {InputCaught, 3}, {InputConstant, 1}, {InputConstant, 0}}, After: []int32{1, 2}},
			{Call: 5, Inputs: []GraphInput{{InputConstant, 1}}},
		},
	}
}

// A graph is read as it was written. aGraph has every field, so that one that is not converted is found.
func TestGraphCrosses(t *testing.T) {
	g := aGraph()
	set := GraphCall{}
	for _, c := range g.Calls {
		v := reflect.ValueOf(c)
		for i := range v.NumField() {
			if f := v.Field(i); !f.IsZero() {
				reflect.ValueOf(&set).Elem().Field(i).Set(f)
			}
		}
	}
	complete(t, "call", reflect.ValueOf(set))
	b, err := MarshalGraph(g)
	if err != nil {
		t.Fatal(err)
	}
	got, err := UnmarshalGraph(b)
	if err != nil || !reflect.DeepEqual(got, g) {
		t.Fatalf("%+v, %v; want %+v", got, err, g)
	}
	if d := FirstDifference(g, got); d != "" {
		t.Error(d)
	}
	if again, err := MarshalGraph(got); err != nil || !bytes.Equal(again, b) {
		t.Errorf("another form, %v", err)
	}
}

// Whatever a graph must not be is refused before it is written, and as it is read.
func TestGraphsThatAreRefused(t *testing.T) {
	for want, spoil := range map[string]func(g *Graph){
		"0 tasks":                             func(g *Graph) { g.Tasks = nil },
		"has call 7":                          func(g *Graph) { g.Tasks[1].Call = 7 },
		"uses 4 of 6 calls":                   func(g *Graph) { g.Tasks = g.Tasks[:4] },
		"of which 1 are used":                 func(g *Graph) { g.Tasks[1].Call = 2 },
		"reads task 3":                        func(g *Graph) { g.Tasks[3].Inputs[0].N = 3 },
		"do not rise":                         func(g *Graph) { g.Tasks[4].After = []int32{2, 1} },
		"follows the tasks [4]":               func(g *Graph) { g.Tasks[4].After = []int32{4} },
		"that ends before":                    func(g *Graph) { g.Tasks[4].Inputs[0].N = 6 },
		"has constant 2":                      func(g *Graph) { g.Tasks[4].Inputs[4].N = 2 },
		"repeats another one":                 func(g *Graph) { g.Constants[1] = g.Constants[0] },
		"65537 bytes":                         func(g *Graph) { g.Constants[1] = make([]byte, MaxConstantBytes+1) },
		"effect 3 is not known":               func(g *Graph) { g.Calls[0].Effect = 3 },
		"checkpoint 3 is not know":            func(g *Graph) { g.Calls[0].Checkpoint = 3 },
		"kind 5 is not known":                 func(g *Graph) { g.Calls[0].Kind = 5 },
		"has a field of another kind of call": func(g *Graph) { g.Calls[5].Effect = workflow.Undo },
		"keeps 1 inputs":                      func(g *Graph) { g.Tasks[5].Inputs[0] = GraphInput{InputTask, 0} },
		"of kind 5":                           func(g *Graph) { g.Tasks[0].Inputs[0].Kind = 5 },
		"duration is negative":                func(g *Graph) { g.Calls[0].Timeout = -1 },
		"the function has no name":            func(g *Graph) { g.Calls[0].Name = "" },
		"the event has no name":               func(g *Graph) { g.Calls[1].Name = "" },
		"the reduce has no op":                func(g *Graph) { g.Calls[3].Op = "" },
		"elements of type bytes":              func(g *Graph) { g.Calls[3].DType = phalanx.Bytes },
		"elements of type dtype":              func(g *Graph) { g.Calls[3].DType = 99 },
		"field of another kind":               func(g *Graph) { g.Calls[2].Version = 1 },
		"a name has 257 bytes":                func(g *Graph) { g.Calls[0].Name = strings.Repeat("x", 257) },
		"out of range":                        func(g *Graph) { g.Calls[0].Retries = -1 },
		"a limit has a name":                  func(g *Graph) { g.Calls[0].Limit = "" },
		"deeper than 16": func(g *Graph) {
			g.Tasks[3].Inputs = append(slicesOf(GraphInput{InputList, 1}, 17), GraphInput{InputTask, 0})
		},
	} {
		g := aGraph()
		spoil(g)
		if _, err := MarshalGraph(g); !errors.Is(err, phalanx.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	deep := aGraph()
	deep.Tasks[3].Inputs = append(slicesOf(GraphInput{InputList, 1}, 16), GraphInput{InputTask, 0})
	if _, err := MarshalGraph(deep); err != nil {
		t.Error(err)
	}
}

func slicesOf[T any](v T, n int) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = v
	}
	return all
}

// Fields of a later version are refused, wherever they are: a node that left them away would break what
// they promise.
func TestGraphOfALaterVersion(t *testing.T) {
	field := protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1)
	for where, add := range map[string]func(m *WorkflowGraph){
		"format": func(m *WorkflowGraph) { m.Format = 2 },
		"graph":  func(m *WorkflowGraph) { m.ProtoReflect().SetUnknown(field) },
		"call":   func(m *WorkflowGraph) { m.Calls[1].ProtoReflect().SetUnknown(field) },
		"task":   func(m *WorkflowGraph) { m.Tasks[1].ProtoReflect().SetUnknown(field) },
	} {
		b, err := MarshalGraph(aGraph())
		m := &WorkflowGraph{}
		if err == nil {
			err = proto.Unmarshal(b, m)
		}
		if err != nil {
			t.Fatal(err)
		}
		add(m)
		if b, err = proto.Marshal(m); err != nil {
			t.Fatal(err)
		}
		if _, err := UnmarshalGraph(b); !errors.Is(err, phalanx.ErrInvalid) || !strings.Contains(err.Error(), "update this node") {
			t.Errorf("%s: %v", where, err)
		}
	}
}

// A few bytes do not take much memory: what they hold is counted first.
func TestGraphThatClaimsTooMuch(t *testing.T) {
	var b []byte
	for range workflow.MaxTasks + 1 {
		b = protowire.AppendBytes(protowire.AppendTag(b, 4, protowire.BytesType), nil)
	}
	inputs := protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), make([]byte, MaxGraphInputs+100))
	inputs = protowire.AppendBytes(protowire.AppendTag(nil, 4, protowire.BytesType), inputs)
	for want, b := range map[string][]byte{"more than 1000000": b, "more than 10000000 inputs": inputs, "67108865 bytes": make([]byte, MaxGraphBytes+1)} {
		var err error
		if n := testing.AllocsPerRun(1, func() { _, err = UnmarshalGraph(b) }); n > 20 {
			t.Errorf("%s: %v allocations", want, n)
		}
		if !errors.Is(err, phalanx.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestFirstDifference(t *testing.T) {
	for want, change := range map[string]func(g *Graph){
		"task 0 is draw@1, and draw@2":                                              func(g *Graph) { g.Calls[0].Version = 2 },
		"task 0 (draw) is annotated in another way: timeout 1ns, and 2ns":           func(g *Graph) { g.Calls[0].Timeout = 2 },
		`input 0 of task 0 (draw) is the constant "one", and the constant "three"`:  func(g *Graph) { g.Constants[0] = []byte("three") },
		"input 1 of task 4 (use) is task 0, read only, and task 0":                  func(g *Graph) { g.Tasks[4].Inputs[1].Kind = InputTask },
		"task 4 (use) follows the tasks [1 2], and [1]":                             func(g *Graph) { g.Tasks[4].After = g.Tasks[4].After[:1] },
		"task 2 is sleep 5ns, and sleep 6ns":                                        func(g *Graph) { g.Calls[2].Pause = 6 },
		"there are 6 tasks, and 7":                                                  func(g *Graph) { g.Tasks = append(g.Tasks, GraphTask{Call: 2}) },
		"task 3 (reduce) has 1 inputs, and 2":                                       func(g *Graph) { g.Tasks[3].Inputs = slicesOf(g.Tasks[3].Inputs[0], 2) },
		"task 3 (reduce) is annotated in another way: number of inputs 1, and 2":    func(g *Graph) { g.Calls[3].Num = 2 },
		"task 0 (draw) is annotated in another way: number of the limit 3, and 4":   func(g *Graph) { g.Calls[0].LimitMost = 4 },
		"input 0 of task 4 (use) is a list of 3, and a list of 2":                   func(g *Graph) { g.Tasks[4].Inputs[0].N = 2 },
		"task 0 (draw) is annotated in another way: checkpoint 2, and 1":            func(g *Graph) { g.Calls[0].Checkpoint = workflow.Sync },
		"input 3 of task 4 (use) is task 3, or its error, and task 2, or its error": func(g *Graph) { g.Tasks[4].Inputs[3].N = 2 },
	} {
		g := aGraph()
		change(g)
		if err := g.Validate(); err != nil {
			t.Errorf("%s: %v", want, err)
		}
		if got := FirstDifference(aGraph(), g); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	// No annotation is left away.
	typ := reflect.TypeFor[GraphCall]()
	for i := range typ.NumField() {
		g, v := aGraph(), reflect.New(typ).Elem()
		v.Set(reflect.ValueOf(g.Calls[0]))
		switch f := v.Field(i); f.Kind() {
		case reflect.Bool:
			f.SetBool(!f.Bool())
		case reflect.String:
			f.SetString(f.String() + "x")
		case reflect.Uint8:
			f.SetUint(f.Uint() ^ 1)
		default:
			f.SetInt(f.Int() + 1)
		}
		g.Calls[0] = v.Interface().(GraphCall)
		if d := FirstDifference(aGraph(), g); d == "" || strings.HasSuffix(d, "unknown") && !(typ.Field(i).Name == "Pause" || typ.Field(i).Name == "Op") {
			t.Errorf("%s: %q", typ.Field(i).Name, d)
		}
	}
}

func FuzzGraph(f *testing.F) {
	b, err := MarshalGraph(aGraph())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := UnmarshalGraph(b)
		if err != nil {
			if !errors.Is(err, phalanx.ErrInvalid) && !errors.Is(err, phalanx.ErrInternal) {
				t.Fatal(err)
			}
			return
		}
		form, err := MarshalGraph(g)
		if err != nil {
			t.Fatal(err)
		}
		again, err := UnmarshalGraph(form)
		if err != nil {
			t.Fatal(err)
		}
		if d := FirstDifference(g, again); d != "" {
			t.Fatal(d)
		}
		_ = g.Names()
	})
}
