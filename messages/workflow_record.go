package messages

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/workflow"
)

// Limits of records. What is beyond is phalanx.ErrInternal: a controller writes none.
const (
	maxRecordBytes = 64 << 20
	maxOutputBytes = 64 << 10 // of an output in an Ended
)

// MarshalRecords returns records in the form in which the ledger has them.
func MarshalRecords(records []workflow.Record) ([]byte, error) {
	m := &WorkflowRecords{Records: make([]*WorkflowRecord, len(records))}
	for i, r := range records {
		rec, err := recordToProto(r)
		if err != nil {
			return nil, err
		}
		m.Records[i] = rec
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

func recordToProto(r workflow.Record) (*WorkflowRecord, error) {
	m := &WorkflowRecord{}
	switch r := r.(type) {
	case workflow.Begun:
		m.Record = &WorkflowRecord_Begun{&WorkflowBegun{Task: uint32(r.Task), Gen: r.Gen, Attempt: fromAttempt(r.Attempt)}}
	case workflow.Ended:
		if len(r.Output.Bytes) > maxOutputBytes {
			return nil, unsendable("an output in a record has %d bytes, more than %d", len(r.Output.Bytes), maxOutputBytes)
		}
		m.Record = &WorkflowRecord_Ended{&WorkflowEnded{Task: uint32(r.Task), Gen: r.Gen, Attempt: fromAttempt(r.Attempt), Output: fromOutput(r.Output)}}
	case workflow.Saved:
		m.Record = &WorkflowRecord_Saved{&WorkflowSaved{Task: uint32(r.Task), Gen: r.Gen, Made: fromAttempt(r.Made)}}
	case workflow.Recovering:
		set := make([]uint32, len(r.Set))
		for i, v := range r.Set {
			set[i] = uint32(v)
		}
		m.Record = &WorkflowRecord_Recovering{&WorkflowRecovering{Set: set, Loss: r.Loss}}
	case workflow.Undone:
		m.Record = &WorkflowRecord_Undone{&WorkflowUndone{Task: uint32(r.Task), Fence: fromAttempt(r.Fence), Left: r.Left}}
	case workflow.Unsaved:
		m.Record = &WorkflowRecord_Unsaved{&WorkflowUnsaved{Task: uint32(r.Task), Gen: r.Gen, Made: fromAttempt(r.Made)}}
	case workflow.Expanded:
		form, err := formOf(r)
		if err != nil {
			return nil, err
		}
		m.Record = &WorkflowRecord_Expanded{&WorkflowExpanded{Task: uint32(r.Task), Gen: r.Gen, Attempt: fromAttempt(r.Attempt), First: uint32(r.First), Graph: form}}
	case workflow.Slept:
		m.Record = &WorkflowRecord_Slept{&WorkflowSlept{Task: uint32(r.Task), Gen: r.Gen, Until: int64(r.Until)}}
	case workflow.Signalled:
		m.Record = &WorkflowRecord_Signalled{&WorkflowSignalled{Name: r.Name, Id: r.ID, Bytes: r.Bytes}}
	case workflow.Cancelled:
		m.Record = &WorkflowRecord_Cancelled{&WorkflowCancelled{Cause: fromText(r.Cause)}}
	case workflow.Resumed:
		resumed := &WorkflowResumed{AcceptLoss: r.AcceptLoss}
		for _, v := range r.Versions {
			resumed.Versions = append(resumed.Versions, &WorkflowVersion{Name: v.Name, Version: uint32(v.Version)})
		}
		m.Record = &WorkflowRecord_Resumed{resumed}
	case workflow.Failing:
		m.Record = &WorkflowRecord_Failing{&WorkflowFailing{Cause: fromText(r.Cause)}}
	case workflow.Compensated:
		m.Record = &WorkflowRecord_Compensated{&WorkflowCompensated{Task: uint32(r.Task)}}
	case workflow.Closed:
		m.Record = &WorkflowRecord_Closed{&WorkflowClosed{Failed: fromText(r.Failed)}}
	default:
		return nil, unsendable("no form of the record %T is known", r)
	}
	return m, nil
}

// formOf returns the recorded form of the graph that a task has returned; nil: it is in rows of its own.
func formOf(r workflow.Expanded) (form []byte, err error) {
	w, ok := r.Work.(*workflow.Work)
	switch {
	case r.Work == nil:
		return nil, nil
	case !ok:
		return nil, unsendable("the work of a graph is a %T", r.Work)
	}
	for _, p := range w.Parts {
		form = append(form, p...)
	}
	if len(form) == 0 || len(form) > maxOutputBytes {
		return nil, unsendable("a graph in a record has %d bytes: 1 to %d are allowed", len(form), maxOutputBytes)
	}
	return form, nil
}

func fromAttempt(a workflow.Attempt) *WorkflowAttempt {
	if a.IsZero() {
		return nil
	}
	return &WorkflowAttempt{Epoch: a.Epoch, Number: a.Number}
}

func toAttempt(m *WorkflowAttempt) workflow.Attempt {
	return workflow.Attempt{Epoch: m.GetEpoch(), Number: m.GetNumber()}
}

func fromOutput(o workflow.Output) *WorkflowOutput {
	return &WorkflowOutput{Size: o.Size, Digest: fromDigest(o.Digest), Recorded: o.Recorded, Bytes: o.Bytes, Error: fromText(o.Error), Names: o.Names, Refs: o.Refs, Weight: o.Weight}
}

// UnmarshalRecords is the inverse of MarshalRecords, for a run of so many tasks: those of its graph, and of all that tasks
// have returned. An Expanded has Work with the recorded form only, or none, if rows of its own have it. A record of a kind, or with a
// field, that this version does not know is phalanx.ErrRefused: a node that left it away would decide what
// the record forbids. Other bytes that MarshalRecords does not make are phalanx.ErrInternal.
func UnmarshalRecords(b []byte, tasks int) ([]workflow.Record, error) {
	if len(b) > maxRecordBytes {
		return nil, broken("records of %d bytes are more than %d", len(b), maxRecordBytes)
	}
	n, err := countRecords(b)
	if err != nil {
		return nil, err
	}
	if most := 8*tasks + 64; n > most { // no event of a run writes more at once
		return nil, broken("there are %d records of one event, at most %d are expected of %d tasks", n, most, tasks)
	}
	m := &WorkflowRecords{}
	if err := proto.Unmarshal(b, m); err != nil {
		return nil, broken("records: %w", err)
	}
	if unknown(m) {
		return nil, later("records")
	}
	all := make([]workflow.Record, len(m.Records))
	for i, rec := range m.Records {
		if all[i], err = recordFromProto(rec, tasks); err != nil {
			return nil, fmt.Errorf("record %d: %w", i, err)
		}
	}
	return all, nil
}

// countRecords counts the records in b before memory is allocated for them.
func countRecords(b []byte) (count int, err error) {
	for len(b) > 0 {
		_, _, n := protowire.ConsumeField(b)
		if n < 0 {
			return 0, broken("records: %w", protowire.ParseError(n))
		}
		b = b[n:]
		count++
	}
	return count, nil
}

func later(what string) error {
	return &phalanx.Error{Op: "decode", Kind: phalanx.ErrRefused, Err: fmt.Errorf("%s: a later version has written them: update this node", what)}
}

func recordFromProto(m *WorkflowRecord, tasks int) (workflow.Record, error) {
	f := &fields{}
	number := func(name string, v uint32) int {
		if int64(v) >= int64(tasks) {
			f.bad(name, "it is %d of %d", v, tasks)
			return 0
		}
		return int(v)
	}
	task := func(v uint32) int { return number("record.task", v) }
	attempt := func(m *WorkflowAttempt) workflow.Attempt {
		if m == nil {
			f.missing("record.attempt")
		}
		return toAttempt(m)
	}
	var known []proto.Message // parts that must have no other fields
	var rec workflow.Record
	switch r := m.GetRecord().(type) {
	case *WorkflowRecord_Begun:
		known = []proto.Message{r.Begun, r.Begun.GetAttempt()}
		rec = workflow.Begun{Task: task(r.Begun.GetTask()), Gen: r.Begun.GetGen(), Attempt: attempt(r.Begun.GetAttempt())}
	case *WorkflowRecord_Ended:
		o := r.Ended.GetOutput()
		known = []proto.Message{r.Ended, r.Ended.GetAttempt(), o}
		rec = workflow.Ended{Task: task(r.Ended.GetTask()), Gen: r.Ended.GetGen(), Attempt: toAttempt(r.Ended.GetAttempt()), Output: f.output(o)}
	case *WorkflowRecord_Saved:
		known = []proto.Message{r.Saved, r.Saved.GetMade()}
		rec = workflow.Saved{Task: task(r.Saved.GetTask()), Gen: r.Saved.GetGen(), Made: toAttempt(r.Saved.GetMade())}
	case *WorkflowRecord_Unsaved:
		known = []proto.Message{r.Unsaved, r.Unsaved.GetMade()}
		rec = workflow.Unsaved{Task: task(r.Unsaved.GetTask()), Gen: r.Unsaved.GetGen(), Made: attempt(r.Unsaved.GetMade())}
	case *WorkflowRecord_Expanded:
		known = []proto.Message{r.Expanded, r.Expanded.GetAttempt()}
		e := workflow.Expanded{Task: task(r.Expanded.GetTask()), Gen: r.Expanded.GetGen(), Attempt: attempt(r.Expanded.GetAttempt()), First: number("record.first", r.Expanded.GetFirst())}
		if form := r.Expanded.GetGraph(); len(form) > maxOutputBytes {
			f.bad("record.graph", "a graph of %d bytes is more than %d", len(form), maxOutputBytes)
		} else if len(form) > 0 {
			e.Work = &workflow.Work{Parts: [][]byte{form}}
		}
		rec = e
	case *WorkflowRecord_Slept:
		known = []proto.Message{r.Slept}
		rec = workflow.Slept{Task: task(r.Slept.GetTask()), Gen: r.Slept.GetGen(), Until: time.Duration(r.Slept.GetUntil())}
	case *WorkflowRecord_Signalled:
		known = []proto.Message{r.Signalled}
		rec = f.signalled(r.Signalled)
	case *WorkflowRecord_Cancelled:
		known = []proto.Message{r.Cancelled}
		rec = workflow.Cancelled{Cause: r.Cancelled.GetCause()}
	case *WorkflowRecord_Resumed:
		known = []proto.Message{r.Resumed}
		for _, v := range r.Resumed.GetVersions() {
			known = append(known, v)
		}
		rec = f.resumed(r.Resumed)
	case *WorkflowRecord_Recovering:
		known = []proto.Message{r.Recovering}
		rec = workflow.Recovering{Set: f.set(r.Recovering.GetSet(), tasks), Loss: r.Recovering.GetLoss()}
	case *WorkflowRecord_Undone:
		known = []proto.Message{r.Undone, r.Undone.GetFence()}
		rec = workflow.Undone{Task: task(r.Undone.GetTask()), Fence: attempt(r.Undone.GetFence()), Left: r.Undone.GetLeft()}
	case *WorkflowRecord_Failing:
		known = []proto.Message{r.Failing}
		rec = workflow.Failing{Cause: r.Failing.GetCause()}
	case *WorkflowRecord_Compensated:
		known = []proto.Message{r.Compensated}
		rec = workflow.Compensated{Task: task(r.Compensated.GetTask())}
	case *WorkflowRecord_Closed:
		known = []proto.Message{r.Closed}
		rec = workflow.Closed{Failed: r.Closed.GetFailed()}
	default:
		return nil, later("its kind is not known")
	}
	if unknown(m) {
		return nil, later("its fields are not known")
	}
	for _, part := range known {
		if unknown(part) {
			return nil, later("its fields are not known")
		}
	}
	return rec, f.err
}

func (f *fields) output(m *WorkflowOutput) workflow.Output {
	switch {
	case m == nil:
		f.missing("record.output")
	case m.Size < 0:
		f.bad("record.output", "the size is %d", m.Size)
	case m.Weight < 0:
		f.bad("record.output", "the objects that it names have %d bytes", m.Weight)
	case len(m.Bytes) > maxOutputBytes:
		f.bad("record.output", "it has %d bytes, more than %d", len(m.Bytes), maxOutputBytes)
	}
	for _, name := range m.GetNames() {
		f.text("record.output.names", name, phalanx.MaxIDBytes)
	}
	return workflow.Output{Size: m.GetSize(), Digest: f.digest("record.output", m.GetDigest()), Recorded: m.GetRecorded(), Bytes: m.GetBytes(), Error: m.GetError(), Names: m.GetNames(),
		Refs: m.GetRefs(), Weight: m.GetWeight()}
}

func (f *fields) signalled(m *WorkflowSignalled) workflow.Signalled {
	switch {
	case m.GetName() == "" || len(m.GetName()) > workflow.MaxSignalName || len(m.GetId()) > workflow.MaxSignalName:
		f.bad("record.signal", "the name has %d bytes and the id %d: 1 and 0 to %d are allowed", len(m.GetName()), len(m.GetId()), workflow.MaxSignalName)
	case len(m.GetBytes()) > workflow.MaxSignal:
		f.bad("record.signal", "it has %d bytes, more than %d", len(m.GetBytes()), workflow.MaxSignal)
	}
	return workflow.Signalled{Name: m.GetName(), ID: m.GetId(), Bytes: m.GetBytes()}
}

func (f *fields) resumed(m *WorkflowResumed) workflow.Resumed {
	if n := len(m.GetVersions()); n > workflow.MaxVersions {
		f.bad("record.versions", "there are %d, more than %d", n, workflow.MaxVersions)
		return workflow.Resumed{}
	}
	rec := workflow.Resumed{AcceptLoss: m.GetAcceptLoss()}
	for _, v := range m.GetVersions() {
		if len(v.GetName()) > phalanx.MaxIDBytes {
			f.bad("record.versions", "the name of a function has %d bytes, more than %d", len(v.GetName()), phalanx.MaxIDBytes)
		}
		rec.Versions = append(rec.Versions, workflow.Function{Name: v.GetName(), Version: f.index("record.version", v.GetVersion())})
	}
	return rec
}

// set decodes tasks that are made again, each once, in any order.
func (f *fields) set(all []uint32, tasks int) []int {
	if len(all) > tasks {
		f.bad("record.set", "it has %d of %d tasks", len(all), tasks)
		return nil
	}
	set, seen := make([]int, len(all)), make(map[uint32]bool, len(all))
	for i, v := range all {
		if int64(v) >= int64(tasks) || seen[v] {
			f.bad("record.set", "task %d of %d is in it, perhaps twice", v, tasks)
			return nil
		}
		set[i], seen[v] = int(v), true
	}
	return set
}
