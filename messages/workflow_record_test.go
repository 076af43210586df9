package messages

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/workflow"
)

var (
	anAttempt   = workflow.Attempt{Epoch: 1, Number: 2}
	someRecords = []workflow.Record{
		workflow.Begun{Task: 1, Gen: 2, Attempt: anAttempt},
		workflow.Ended{Task: 1, Gen: 2, Attempt: anAttempt, Output: workflow.Output{Size: 3, Digest: [16]byte{4}, Recorded: true, Bytes: []byte("abc"), Error: "e", Names: []string{"n"}, Refs: 2, Weight: 5}},
		workflow.Saved{Task: 1, Gen: 2, Made: anAttempt},
		workflow.Recovering{Set: []int{3, 1}, Loss: true},
		workflow.Undone{Task: 1, Fence: anAttempt, Left: true},
		workflow.Failing{Cause: "c"},
		workflow.Compensated{Task: 1},
		workflow.Closed{Failed: "f"},
		workflow.Unsaved{Task: 1, Gen: 2, Made: anAttempt},
		workflow.Expanded{Task: 1, Gen: 2, Attempt: anAttempt, First: 3, Work: &workflow.Work{Parts: [][]byte{[]byte("form")}}},
		workflow.Slept{Task: 1, Gen: 2, Until: 3},
		workflow.Signalled{Name: "n", ID: "i", Bytes: []byte("b")},
		workflow.Cancelled{Cause: "c"},
		workflow.Resumed{Versions: []workflow.Function{{Name: "f", Version: 2}}, AcceptLoss: true},
	}
)

// Every record crosses with every field: one that is new and not converted is found.
func TestRecordsCross(t *testing.T) {
	for _, r := range someRecords {
		complete(t, reflect.TypeOf(r).Name(), reflect.ValueOf(r))
	}
	b, err := MarshalRecords(someRecords)
	if err != nil {
		t.Fatal(err)
	}
	got, err := UnmarshalRecords(b, 4)
	if err != nil || !reflect.DeepEqual(got, someRecords) {
		t.Fatalf("%+v, %v", got, err)
	}
	names := map[string]bool{}
	for _, r := range someRecords {
		names[reflect.TypeOf(r).Name()] = true
	}
	for _, name := range recordTypes(t) {
		if !names[name] {
			t.Errorf("no test sends a %s", name)
		}
	}
}

// recordTypes returns the types of the core that are records: those with the method record.
func recordTypes(t *testing.T) (all []string) {
	const dir = "../protocol/workflow"
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), dir+"/"+e.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == "record" && fn.Recv != nil {
				if id, ok := fn.Recv.List[0].Type.(*ast.Ident); ok {
					all = append(all, id.Name)
				}
			}
		}
	}
	if len(all) == 0 {
		t.Fatal("no record was found")
	}
	return all
}

func TestRecordsThatAreRefused(t *testing.T) {
	field := protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1)
	b, err := MarshalRecords(someRecords)
	if err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]struct {
		kind   phalanx.Kind
		change func(m *WorkflowRecords)
	}{
		"it is 4 of 4":              {phalanx.ErrInternal, func(m *WorkflowRecords) { m.Records[0].GetBegun().Task = 4 }},
		"attempt: it is missing":    {phalanx.ErrInternal, func(m *WorkflowRecords) { m.Records[0].GetBegun().Attempt = nil }},
		"output: it is missing":     {phalanx.ErrInternal, func(m *WorkflowRecords) { m.Records[1].GetEnded().Output = nil }},
		"the size is -1":            {phalanx.ErrInternal, func(m *WorkflowRecords) { m.Records[1].GetEnded().Output.Size = -1 }},
		"65537 bytes":               {phalanx.ErrInternal, func(m *WorkflowRecords) { m.Records[1].GetEnded().Output.Bytes = make([]byte, maxOutputBytes+1) }},
		"the digest has 3 bytes":    {phalanx.ErrInternal, func(m *WorkflowRecords) { m.Records[1].GetEnded().Output.Digest = []byte("abc") }},
		"task 1 of 4 is in it":      {phalanx.ErrInternal, func(m *WorkflowRecords) { m.Records[3].GetRecovering().Set = []uint32{1, 1} }},
		"it has 5 of 4 tasks":       {phalanx.ErrInternal, func(m *WorkflowRecords) { m.Records[3].GetRecovering().Set = make([]uint32, 5) }},
		"task 4 of 4 is in it":      {phalanx.ErrInternal, func(m *WorkflowRecords) { m.Records[3].GetRecovering().Set = []uint32{4} }},
		"a graph of 65537":          {phalanx.ErrInternal, func(m *WorkflowRecords) { m.Records[9].GetExpanded().Graph = make([]byte, maxOutputBytes+1) }},
		"first: it is 4 of 4":       {phalanx.ErrInternal, func(m *WorkflowRecords) { m.Records[9].GetExpanded().First = 4 }},
		"the name has 0 bytes":      {phalanx.ErrInternal, func(m *WorkflowRecords) { m.Records[11].GetSignalled().Name = "" }},
		"it has 65537 bytes, more":  {phalanx.ErrInternal, func(m *WorkflowRecords) { m.Records[11].GetSignalled().Bytes = make([]byte, workflow.MaxSignal+1) }},
		"there are 501, more than":  {phalanx.ErrInternal, func(m *WorkflowRecords) { m.Records[13].GetResumed().Versions = make([]*WorkflowVersion, 501) }},
		"record 13: decode":         {phalanx.ErrRefused, func(m *WorkflowRecords) { m.Records[13].GetResumed().Versions[0].ProtoReflect().SetUnknown(field) }},
		"97 records of one event":   {phalanx.ErrInternal, func(m *WorkflowRecords) { m.Records = slicesOf(m.Records[5], 8*4+65) }},
		"record 0: decode: refused": {phalanx.ErrRefused, func(m *WorkflowRecords) { m.Records[0].Record = nil }},
		"record 1: decode: refused": {phalanx.ErrRefused, func(m *WorkflowRecords) { m.Records[1].ProtoReflect().SetUnknown(field) }},
		"record 2: decode: refused": {phalanx.ErrRefused, func(m *WorkflowRecords) { m.Records[2].GetSaved().Made.ProtoReflect().SetUnknown(field) }},
		"record 4: decode: refused": {phalanx.ErrRefused, func(m *WorkflowRecords) { m.Records[4].GetUndone().ProtoReflect().SetUnknown(field) }},
		"records: a later version":  {phalanx.ErrRefused, func(m *WorkflowRecords) { m.ProtoReflect().SetUnknown(field) }},
	} {
		m := &WorkflowRecords{}
		if err := proto.Unmarshal(b, m); err != nil {
			t.Fatal(err)
		}
		change.change(m)
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := UnmarshalRecords(b, 4); !errors.Is(err, change.kind) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := MarshalRecords([]workflow.Record{workflow.Ended{Output: workflow.Output{Bytes: make([]byte, maxOutputBytes+1)}}}); err == nil {
		t.Error("a large output went into a record")
	}
	for _, work := range []any{"work", &workflow.Work{}, &workflow.Work{Parts: [][]byte{make([]byte, maxOutputBytes+1)}}} {
		if _, err := MarshalRecords([]workflow.Record{workflow.Expanded{Work: work}}); err == nil {
			t.Errorf("%.20v went into a record", work)
		}
	}
	if _, err := MarshalRecords([]workflow.Record{nil}); err == nil {
		t.Error("no record went into one")
	}
}

func FuzzRecords(f *testing.F) {
	for i := range someRecords {
		b, err := MarshalRecords(someRecords[i:])
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint16(4))
	}
	f.Fuzz(func(t *testing.T, b []byte, tasks uint16) {
		all, err := UnmarshalRecords(b, int(tasks))
		if err != nil {
			if !errors.Is(err, phalanx.ErrRefused) && !errors.Is(err, phalanx.ErrInternal) {
				t.Fatal(err)
			}
			return
		}
		form, err := MarshalRecords(all)
		if err != nil {
			t.Fatal(err)
		}
		again, err := UnmarshalRecords(form, int(tasks))
		if err != nil || len(again) != len(all) {
			t.Fatalf("%+v, %v; was %+v", again, err, all)
		}
		if twice, err := MarshalRecords(again); err != nil || !bytes.Equal(twice, form) {
			t.Fatalf("another form: %x, %v; was %x", twice, err, form)
		}
	})
}
