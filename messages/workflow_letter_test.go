package messages

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx"
	node "github.com/phalanx-go/phalanx/node/workflow"
	"github.com/phalanx-go/phalanx/protocol/workflow"
)

var (
	aUID      = workflow.UID{Ledger: 1, Epoch: 2, Index: 3}
	aBlob     = workflow.Blob{Run: aUID, Task: 4, Gen: 5, Made: anAttempt}
	anID      = workflow.AttemptID{Run: aUID, Task: 4, Attempt: anAttempt}
	anOutput  = workflow.Output{Size: 3, Digest: [16]byte{4}, Recorded: true, Bytes: []byte("abc"), Error: "e", Names: []string{"wf/x"}, Refs: 2, Weight: 5}
	aLocated  = workflow.Located{Task: 4, Gen: 5, Made: anAttempt, Output: anOutput, Row: "run/x", Disks: []string{"d"}, Deterministic: true}
	aFunction = workflow.Function{Name: "f", Version: 6}
	aRunName  = workflow.Name{Run: aUID, Digest: phalanx.Digest{1}, Key: "k", State: workflow.Waiting, Why: "w", Lost: []string{"t"}, Until: 7}
	aResult   = workflow.Result{Failed: "f", Outputs: []workflow.Located{aLocated}}
	aReport   = workflow.Report{Epoch: 9, ID: anID, Gen: 5, Kind: workflow.MakeUp, Failed: "f", Final: true, Lost: true, Missing: []workflow.Blob{aBlob}, Unsaved: []workflow.Blob{aBlob}, Output: anOutput,
		Work: &workflow.Work{Parts: [][]byte{[]byte("form")}}, Progress: []byte("half")}
	aNumber    = workflow.ViewNumber{Boot: 1, Number: 2}
	aJob       = &Job{Call: GraphCall{Name: "f", Version: 6, Deterministic: true, Timeout: time.Second}, Args: []GraphInput{{InputList, 2}, {InputTask, 0}, {InputConstant, 0}}, Constants: [][]byte{[]byte("c")}, Object: true, Result: true}
	someValues = []workflow.RowValue{
		aRunName,
		workflow.Part{Bytes: []byte("p")},
		workflow.Active{},
		workflow.Batch{Epoch: 1, At: 2, More: true, Records: []workflow.Record{workflow.Compensated{Task: 1}}},
		workflow.OutputBytes{Bytes: []byte("o")},
		workflow.Places{Blob: aBlob, Disks: []string{"d"}},
		aResult,
		workflow.Known{View: aNumber},
		workflow.Clock{Minute: 8},
	}
	someLetters = []any{
		workflow.Ask{Epoch: 9, Number: 1, Only: aUID, Part: 2},
		workflow.Order{Epoch: 9, Serial: 1, ID: anID, Gen: 2, Kind: workflow.TakeBack, Generation: 3, Fence: anAttempt, Made: anAttempt, Function: aFunction,
			Inputs: []workflow.Located{aLocated}, Output: &aLocated, Attempts: 4, Progress: []byte("half"), Of: aJob},
		workflow.Recall{Epoch: 9, Serial: 1, ID: anID},
		workflow.Acknowledge{Epoch: 9, IDs: []workflow.AttemptID{anID}},
		workflow.WriteBlob{Epoch: 9, Blob: aBlob, Output: anOutput, Result: true, Deterministic: true},
		workflow.Release{Epoch: 9, Serial: 1, Runs: []workflow.Released{{Run: aUID, Results: true, Spares: []string{"wf/x"}}}},
		workflow.Tell{Epoch: 9, Number: 1, Part: 2, Parts: 3, Slots: 4, Functions: []workflow.Function{aFunction}, Disk: "d",
			Running: []workflow.Running{{ID: anID, Gen: 1, Kind: workflow.Remake}}, Ended: []workflow.Report{aReport}, Holds: []workflow.Blob{aBlob}},
		workflow.Taken{Epoch: 9, ID: anID},
		workflow.Busy{Epoch: 9, ID: anID},
		aReport,
		workflow.Beaten{Epoch: 9, ID: anID, Progress: []byte("half")},
		workflow.Waits{Epoch: 9, ID: anID, On: true},
		workflow.Keeps{Epoch: 9, Runs: []workflow.UID{aUID}},
		workflow.BlobWritten{Epoch: 9, Blob: aBlob, Disk: "d", Failed: "f", Missing: true},
		workflow.Freed{Epoch: 9, Serial: 1},
		node.WantRows{Epoch: 9, Keys: []string{"k"}},
		node.HaveRows{Epoch: 9, Rows: []node.OutputRow{{Key: "k", Bytes: []byte("b")}}},
		node.Elsewhere{Number: 1, Controller: "a#1", Epoch: 9, Disk: true},
		node.Withdrawn{Number: 1},
		node.Restore{Number: 1, Place: node.PlaceOf(aBlob), Object: "wf/x", Meta: phalanx.Meta{Size: 8, DType: phalanx.Uint64, Shape: []int64{1}}},
		node.Restore{Number: 1, Place: "wf/x/ref/y", Object: "wf/x", Meta: phalanx.Meta{Size: 8, DType: phalanx.Uint64, Shape: []int64{1}}},
		node.Restored{Number: 1, Done: true, Failed: "f", Disk: "d", Lost: true},
		node.Copied{Number: 1, Failed: "f"},
		node.Which{Number: 1, Places: []string{"p"}},
		node.These{Number: 1, Disk: "d", Places: []string{"p"}},
		node.Copy{Number: 3, Place: "wf/x/ref/y", Object: "wf/y", Size: 3, Digest: [16]byte{4}},
		node.Copy{Number: 2, Place: node.PlaceOf(aBlob), Object: "wf/x", Size: 3, Digest: [16]byte{4}},
		node.ActorCall{Number: 1, OpenCalls: node.OpenCalls{Turn: 7, Open: []uint64{1, 4}, Below: 5}, Deed: node.ActorSave, Actor: node.ActorAt{Node: "b#1", ID: "wf/x/0", By: "wf/x/1", Version: 3}, By: "wf/x/2", Name: "n", As: "a", Bytes: []byte("b"),
			Large: node.Ref{Object: "wf/x/3", Meta: phalanx.Meta{Size: 8, DType: phalanx.Uint64, Shape: []int64{1}}, Digest: [16]byte{4}}, Object: "wf/x/4"},
		node.ActorAnswer{Number: 1, End: node.ActorGone, Why: "w", Final: true, Bytes: []byte("b"), Large: node.Ref{Object: "wf/x/3", Meta: phalanx.Meta{Size: 8, DType: phalanx.Uint64, Shape: []int64{1}}, Digest: [16]byte{4}}},
		node.ActorOver{Number: 1, OpenCalls: node.OpenCalls{Turn: 7, Open: []uint64{1, 4}, Below: 5}},
		node.Piece{Stream: 1, Offset: 2, Size: 9, Bytes: []byte("b")},
	}
	someCalls = []workflow.Call{
		workflow.StartRun{ID: "x", Key: "k"}, workflow.AttachRun{ID: "x"}, workflow.AwaitResult{ID: "x"}, workflow.GetStatus{ID: "x"},
		workflow.GetStatus{ID: "x", Tasks: true}, workflow.ReadRun{ID: "x", Log: true, From: 7},
		workflow.ListRuns{Prefix: "p", After: "a", Limit: 5}, workflow.CancelRun{ID: "x", Cause: "c"}, workflow.ResumeRun{ID: "x", With: []workflow.Function{aFunction}, AcceptLoss: true},
		workflow.SignalRun{ID: "x", Name: "n", Key: "k", Bytes: []byte("b")}, workflow.ForgetRun{ID: "x"}, workflow.GetLedger{},
	}
)

// Every row crosses with every field.
func TestWorkflowRowsCross(t *testing.T) {
	started := workflow.Started{Run: aUID, ID: "x", Key: "k"}
	for _, v := range append([]workflow.RowValue{started}, someValues...) {
		if _, is := v.(workflow.Started); !is { // its Work is in rows of its own
			complete(t, reflect.TypeOf(v).Name(), reflect.ValueOf(v))
		}
		b, err := MarshalRow(v)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) == 0 {
			t.Errorf("a %T has no bytes: it would delete its row", v)
		}
		got, err := UnmarshalRow(b, 10)
		if err != nil || !reflect.DeepEqual(got, v) {
			t.Errorf("%T: %+v, want %+v: %v", v, got, v, err)
		}
		if _, err := UnmarshalRow(protowire.AppendVarint(protowire.AppendTag(b, 500, protowire.VarintType), 1), 10); !errors.Is(err, phalanx.ErrRefused) {
			t.Errorf("a %T of a later version: %v", v, err)
		}
	}
	for _, v := range []workflow.RowValue{workflow.Part{}, workflow.OutputBytes{}, workflow.Clock{}, workflow.Known{}, workflow.Result{}} { // empty ones as well
		if b, err := MarshalRow(v); err != nil || len(b) == 0 {
			t.Errorf("an empty %T: %x, %v", v, b, err)
		}
	}
}

func letterCrosses(t *testing.T, letter any) any {
	t.Helper()
	m, err := WorkflowToProto("a#1", "b#1", letter)
	if err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	back := &WorkflowLetter{}
	if err := proto.Unmarshal(b, back); err != nil {
		t.Fatal(err)
	}
	from, to, got, err := WorkflowFromProto(back)
	if err != nil || from != "a#1" || to != "b#1" {
		t.Fatalf("%T from %s to %s: %v", letter, from, to, err)
	}
	return got
}

// Every letter crosses with every field.
func TestWorkflowLettersCross(t *testing.T) {
	for _, l := range someLetters {
		if _, is := l.(workflow.Order); !is { // a Job's call has fields that a function has not
			complete(t, reflect.TypeOf(l).Name(), reflect.ValueOf(l))
		}
		if got := letterCrosses(t, l); !reflect.DeepEqual(got, l) {
			t.Errorf("%T: %+v, want %+v", l, got, l)
		}
	}
	for _, c := range someCalls {
		r := node.Request{Number: 1, Patience: time.Second, Call: c}
		if _, is := c.(workflow.StartRun); is {
			r.Graph = []byte("g")
		}
		if got := letterCrosses(t, r); !reflect.DeepEqual(got, r) {
			t.Errorf("%T: %+v, want %+v", c, got, r)
		}
	}
	r := node.Reply{Number: 1, Busy: true, Again: true, Answer: workflow.Answer{Run: aUID, Fresh: true, Result: &aResult, List: []workflow.Listed{{ID: "x", Name: aRunName}},
		Status: &workflow.Status{State: workflow.Open, Why: "w", Tasks: 1, Ended: 2, Running: 3, Ready: 4, Lacks: []workflow.Function{aFunction}, Lost: []string{"t"},
			Work: []workflow.AtWork{{Task: 1, Kind: workflow.MakeUp, Node: "a#1", Ready: true, Stuck: true, Failed: 2, Why: "w"}}},
		Page:   &workflow.Page{Rows: []workflow.Recorded{{Number: 1, Bytes: []byte("b")}}, Next: 2},
		Ledger: &workflow.Ledger{Epoch: 1, Leader: "a#1", Disks: []workflow.LedgerDisk{{Disk: "d", Node: "a#1", Address: "x:1", Host: "h", Holds: true, Leads: true, Temporary: true, Failed: true, Silent: 3}}},
		Err:    &phalanx.Error{Op: "o", Kind: phalanx.ErrMismatch, Err: errors.New("e")}}}
	got := letterCrosses(t, r).(node.Reply)
	if got.Answer.Err.Error() != r.Answer.Err.Error() {
		t.Errorf("the error is %v, want %v", got.Answer.Err, r.Answer.Err)
	}
	got.Answer.Err = r.Answer.Err
	if !reflect.DeepEqual(got, r) {
		t.Errorf("%+v, want %+v", got, r)
	}
}

// The letters that go uncut can be sent, and what is beyond the bounds is refused.
func TestWorkflowBounds(t *testing.T) {
	long := strings.Repeat("x", phalanx.MaxIDBytes+1)
	for name, l := range map[string]any{
		"the id of a run":   node.Request{Call: workflow.AttachRun{ID: long}},
		"a key":             node.Request{Call: workflow.StartRun{ID: "x", Key: long}},
		"rows":              node.WantRows{Keys: make([]string, node.MaxKeys+1)},
		"an output":         node.HaveRows{Rows: []node.OutputRow{{Bytes: make([]byte, maxOutputBytes+1)}}},
		"a disk":            workflow.Tell{Disk: long},
		"a task":            workflow.Taken{ID: workflow.AttemptID{Run: aUID, Task: workflow.MaxTasks}},
		"no run":            workflow.Taken{},
		"a piece":           node.Piece{Size: node.MaxLetter + 1},
		"a piece's offset":  node.Piece{Offset: 2, Size: 1},
		"a kind":            workflow.Report{ID: anID, Kind: workflow.Remake + 1},
		"tasks at work":     node.Reply{Answer: workflow.Answer{Status: &workflow.Status{State: workflow.Open, Work: make([]workflow.AtWork, maxListed+1)}}},
		"rows of a page":    node.Reply{Answer: workflow.Answer{Page: &workflow.Page{Rows: make([]workflow.Recorded, maxPage+1)}}},
		"disks":             node.Reply{Answer: workflow.Answer{Ledger: &workflow.Ledger{Disks: []workflow.LedgerDisk{{Disk: long}}}}},
		"a deed":            node.ActorCall{Deed: node.ActorDiscard + 1, Actor: node.ActorAt{ID: "wf/x/0", By: "wf/x/1", Version: 1}},
		"an actor":          node.ActorCall{Actor: node.ActorAt{ID: "x", By: "x", Version: 1}},
		"an argument":       node.ActorCall{Actor: node.ActorAt{ID: "wf/x/0", By: "wf/x/1", Version: 1}, Bytes: make([]byte, node.MaxActorBytes+1)},
		"a method":          node.ActorCall{Actor: node.ActorAt{ID: "wf/x/0", By: "wf/x/1", Version: 1}, Name: long + long + long},
		"calls in disorder": node.ActorOver{OpenCalls: node.OpenCalls{Open: []uint64{2, 1}, Below: 5}},
		"a call twice":      node.ActorOver{OpenCalls: node.OpenCalls{Open: []uint64{2, 2}, Below: 5}},
		"a high call":       node.ActorOver{OpenCalls: node.OpenCalls{Open: []uint64{2, 5}, Below: 5}},
		"many calls":        node.ActorOver{OpenCalls: node.OpenCalls{Open: callsTo(node.MaxOpen), Below: node.MaxOpen + 1}},
		"open calls":        node.ActorCall{Actor: node.ActorAt{ID: "wf/x/0", By: "wf/x/1", Version: 1}, OpenCalls: node.OpenCalls{Open: []uint64{2}, Below: 1}},
		"the end of a call": node.ActorAnswer{End: node.ActorSilent},
		"an answer":         node.ActorAnswer{Bytes: make([]byte, node.MaxActorBytes+1)},
		"runs":              node.Reply{Answer: workflow.Answer{List: make([]workflow.Listed, maxListed+1)}},
	} {
		m, err := WorkflowToProto("a#1", "b#1", l)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, _, _, err := WorkflowFromProto(m); !errors.Is(err, phalanx.ErrInternal) {
			t.Errorf("%s: %v", name, err)
		}
	}
	rows := node.HaveRows{Epoch: math.MaxUint64}
	for range node.MaxKeys {
		rows.Rows = append(rows.Rows, node.OutputRow{Key: strings.Repeat("k", phalanx.MaxIDBytes), Bytes: make([]byte, maxOutputBytes)})
	}
	for _, l := range []any{rows, node.Piece{Stream: math.MaxUint64, Offset: node.MaxLetter - node.MaxWhole, Size: node.MaxLetter, Bytes: make([]byte, node.MaxWhole)}} {
		m, err := WorkflowToProto(phalanx.NodeID(long[1:]), phalanx.NodeID(long[1:]), l)
		if n := proto.Size(m); err != nil || n > 2<<20 {
			t.Errorf("a %T has %d bytes: %v", l, n, err)
		}
	}
}

// An order has what its task reads and no more: its arguments come back, whatever the graph is and however many bytes
// fit.
func TestFit(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 3))
		g := &Graph{Calls: []GraphCall{{Name: "f", Version: 1}, {Name: "g", Version: 1, Checkpoint: workflow.Off}}, Constants: [][]byte{{1}, {2}, {3}}}
		n := 2 + r.IntN(6)
		for v := range n {
			task := GraphTask{Call: int32(min(v, r.IntN(2)))}
			for range r.IntN(5) {
				if v > 0 && r.IntN(2) == 0 {
					task.Inputs = append(task.Inputs, GraphInput{InputTask, uint32(r.IntN(v))})
				} else {
					task.Inputs = append(task.Inputs, GraphInput{InputConstant, uint32(r.IntN(3))})
				}
			}
			g.Tasks = append(g.Tasks, task)
		}
		v := n - 1
		o := workflow.Order{ID: workflow.AttemptID{Run: aUID, Task: 10 + v}, Local: v}
		for p := range v {
			o.From = append(o.From, p)
			made := workflow.Attempt{Epoch: 1, Number: uint64(p) + 1}
			if r.IntN(8) == 0 { // by a run that goes back: it has no row
				made = workflow.Attempt{}
			}
			o.Inputs = append(o.Inputs, workflow.Located{Task: 10 + p, Made: made, Off: g.Tasks[p].Call == 1, Output: workflow.Output{Recorded: true, Size: 1000, Bytes: make([]byte, 1000)}})
		}
		budget := r.IntN(4000)
		got := Fit(o, g, budget, func(l workflow.Located) string { return "row" })
		job := got.Of.(*Job)
		sum := 0
		for _, l := range got.Inputs {
			off := l.Off
			if l.Made.IsZero() && !off {
				if len(l.Output.Bytes) != 1000 {
					t.Fatalf("seed %d: the input %+v has no row", seed, l)
				}
				continue
			}
			sum += len(l.Output.Bytes)
			if l.Output.Bytes == nil && (l.Row == "row") == off || l.Output.Recorded != (l.Output.Bytes != nil || !off) {
				t.Fatalf("seed %d: an input of %d is %+v", seed, v, l)
			}
		}
		if sum > budget {
			t.Fatalf("seed %d: %d bytes go with the order, more than %d", seed, sum, budget)
		}
		for i, in := range g.Tasks[v].Inputs {
			arg := job.Args[i]
			if in.OfTask() && got.Inputs[arg.N].Task != 10+int(in.N) || in.Kind == InputConstant && job.Constants[arg.N][0] != g.Constants[in.N][0] {
				t.Fatalf("seed %d: argument %d is %v of %+v, want %v", seed, i, arg, job, in)
			}
		}
		if l := letterCrosses(t, got).(workflow.Order); !reflect.DeepEqual(l.Of.(*Job).Args, job.Args) {
			t.Fatalf("seed %d: the arguments are %v, want %v", seed, l.Of.(*Job).Args, job.Args)
		}
	}
}

func FuzzWorkflowLetters(f *testing.F) {
	for _, l := range someLetters {
		m, err := WorkflowToProto("a#1", "b#1", l)
		if err != nil {
			f.Fatal(err)
		}
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m := &WorkflowLetter{}
		if proto.Unmarshal(b, m) != nil {
			return
		}
		from, to, l, err := WorkflowFromProto(m)
		if err != nil {
			return
		}
		if _, err := WorkflowToProto(from, to, l); err != nil { // what was read can be sent
			t.Errorf("%+v: %v", l, err)
		}
	})
}

func FuzzWorkflowRows(f *testing.F) {
	for _, v := range someValues {
		b, err := MarshalRow(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := UnmarshalRow(b, 10)
		if err != nil {
			return
		}
		if _, err := MarshalRow(v); err != nil {
			t.Errorf("%+v: %v", v, err)
		}
	})
}

// callsTo returns the numbers up to last.
func callsTo(last uint64) (all []uint64) {
	for n := range last + 1 {
		all = append(all, n)
	}
	return all
}
