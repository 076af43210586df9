package messages

import (
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/workflow"
)

// Limits of rows and letters.
const (
	maxDisks  = 64   // that have one checkpoint
	maxListed = 1000 // runs, functions
	maxRows   = 1 << 16
)

// MarshalRow returns what a row of the ledger says in its recorded form. A Started is without its Work.
func MarshalRow(v workflow.RowValue) ([]byte, error) {
	m := &WorkflowRow{}
	switch v := v.(type) {
	case workflow.Name:
		m.Value = &WorkflowRow_Name{fromName(v)}
	case workflow.Started:
		m.Value = &WorkflowRow_Started{&WorkflowStarted{Run: fromUID(v.Run), Id: v.ID, Key: v.Key}}
	case workflow.Part:
		m.Value = &WorkflowRow_Part{v.Bytes}
	case workflow.Active:
		m.Value = &WorkflowRow_Active{&WorkflowActive{}}
	case workflow.Batch:
		b, err := MarshalRecords(v.Records)
		if err != nil {
			return nil, err
		}
		m.Value = &WorkflowRow_Batch{&WorkflowBatch{Epoch: v.Epoch, At: int64(v.At), More: v.More, Records: b}}
	case workflow.OutputBytes:
		m.Value = &WorkflowRow_Output{v.Bytes}
	case workflow.Places:
		m.Value = &WorkflowRow_Places{&WorkflowPlaces{Blob: fromBlob(v.Blob), Disks: v.Disks}}
	case workflow.Result:
		m.Value = &WorkflowRow_Result{fromRunResult(v)}
	case workflow.Known:
		m.Value = &WorkflowRow_Known{&WorkflowViewNumber{Boot: v.View.Boot, Number: v.View.Number}}
	case workflow.Clock:
		m.Value = &WorkflowRow_Clock{&WorkflowClock{Minute: v.Minute}}
	default:
		return nil, unsendable("no form of the row %T is known", v)
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

// UnmarshalRow is the inverse of MarshalRow; a Batch is that of a run with so many tasks. What only later versions know
// is phalanx.ErrRefused, and other bytes that MarshalRow does not make are phalanx.ErrInternal.
func UnmarshalRow(b []byte, tasks int) (workflow.RowValue, error) {
	m := &WorkflowRow{}
	if err := proto.Unmarshal(b, m); err != nil {
		return nil, broken("a row: %w", err)
	}
	if unknown(m) {
		return nil, later("a row")
	}
	f := &fields{}
	var v workflow.RowValue
	switch r := m.GetValue().(type) {
	case *WorkflowRow_Name:
		v = f.name(r.Name)
	case *WorkflowRow_Started:
		v = workflow.Started{Run: f.uid(r.Started.GetRun()), ID: f.runID(r.Started.GetId()), Key: f.text("started.key", r.Started.GetKey(), phalanx.MaxIDBytes)}
	case *WorkflowRow_Part:
		v = workflow.Part{Bytes: r.Part}
	case *WorkflowRow_Active:
		v = workflow.Active{}
	case *WorkflowRow_Batch:
		records, err := UnmarshalRecords(r.Batch.GetRecords(), tasks)
		if err != nil {
			return nil, err
		}
		v = workflow.Batch{Epoch: r.Batch.GetEpoch(), At: time.Duration(r.Batch.GetAt()), More: r.Batch.GetMore(), Records: records}
	case *WorkflowRow_Output:
		v = workflow.OutputBytes{Bytes: r.Output}
	case *WorkflowRow_Places:
		v = workflow.Places{Blob: f.blob(r.Places.GetBlob()), Disks: f.disks(r.Places.GetDisks())}
	case *WorkflowRow_Result:
		v = f.runResult(r.Result)
	case *WorkflowRow_Known:
		v = workflow.Known{View: workflow.ViewNumber{Boot: r.Known.GetBoot(), Number: r.Known.GetNumber()}}
	case *WorkflowRow_Clock:
		v = workflow.Clock{Minute: r.Clock.GetMinute()}
	default:
		return nil, later("a row's kind")
	}
	return v, f.err
}

func fromUID(u workflow.UID) *WorkflowUID {
	if u.IsZero() {
		return nil
	}
	return &WorkflowUID{Ledger: u.Ledger, Epoch: u.Epoch, Index: u.Index}
}

func toUID(m *WorkflowUID) workflow.UID {
	return workflow.UID{Ledger: m.GetLedger(), Epoch: m.GetEpoch(), Index: m.GetIndex()}
}

func fromName(n workflow.Name) *WorkflowName {
	return &WorkflowName{Run: fromUID(n.Run), Digest: fromDigest(n.Digest), Key: n.Key, State: uint32(n.State), Why: fromText(n.Why), Lost: fromTexts(n.Lost), Until: n.Until}
}

func fromBlob(b workflow.Blob) *WorkflowBlob {
	return &WorkflowBlob{Run: fromUID(b.Run), Task: uint32(b.Task), Gen: b.Gen, Made: fromAttempt(b.Made)}
}

func fromBlobs(all []workflow.Blob) []*WorkflowBlob {
	var to []*WorkflowBlob
	for _, b := range all {
		to = append(to, fromBlob(b))
	}
	return to
}

func fromFunctions(all []workflow.Function) []*WorkflowFunction {
	var to []*WorkflowFunction
	for _, f := range all {
		to = append(to, &WorkflowFunction{Name: f.Name, Version: uint32(f.Version)})
	}
	return to
}

func fromLocated(l workflow.Located) *WorkflowLocated {
	return &WorkflowLocated{Task: uint32(l.Task), Gen: l.Gen, Made: fromAttempt(l.Made), Output: fromOutput(l.Output), Row: l.Row, Disks: l.Disks, Deterministic: l.Deterministic}
}

func fromRunResult(r workflow.Result) *WorkflowResult {
	m := &WorkflowResult{Failed: fromText(r.Failed)}
	for _, o := range r.Outputs {
		m.Outputs = append(m.Outputs, fromLocated(o))
	}
	return m
}

func (f *fields) uid(m *WorkflowUID) workflow.UID {
	if m == nil {
		f.missing("run")
	}
	return toUID(m)
}

// task decodes the number of a task.
func (f *fields) task(n uint32) int {
	if n >= workflow.MaxTasks {
		f.bad("task", "it is %d, at most %d are allowed", n, workflow.MaxTasks)
		return 0
	}
	return int(n)
}

func (f *fields) text(name, s string, most int) string {
	if len(s) > most {
		f.bad(name, "it has %d bytes, at most %d are allowed", len(s), most)
		return ""
	}
	return s
}

func (f *fields) runID(s string) string { return f.text("id", s, phalanx.MaxIDBytes) }

func (f *fields) name(m *WorkflowName) workflow.Name {
	return workflow.Name{Run: f.uid(m.GetRun()), Digest: f.digest("name.digest", m.GetDigest()), Key: f.text("name.key", m.GetKey(), phalanx.MaxIDBytes),
		State: f.runState(m.GetState()), Why: m.GetWhy(), Lost: f.names("name.lost", m.GetLost()), Until: m.GetUntil()}
}

func (f *fields) runState(n uint32) workflow.State {
	if n > uint32(workflow.Forgotten) {
		f.bad("state", "the value %d is not known", n)
	}
	return workflow.State(n)
}

func (f *fields) blob(m *WorkflowBlob) workflow.Blob {
	return workflow.Blob{Run: f.uid(m.GetRun()), Task: f.task(m.GetTask()), Gen: m.GetGen(), Made: toAttempt(m.GetMade())}
}

func (f *fields) blobs(name string, all []*WorkflowBlob) (to []workflow.Blob) {
	if len(all) > maxRows {
		f.bad(name, "there are %d", len(all))
		return nil
	}
	for _, b := range all {
		to = append(to, f.blob(b))
	}
	return to
}

func (f *fields) disks(all []string) []string {
	if len(all) > maxDisks {
		f.bad("disks", "there are %d, at most %d are allowed", len(all), maxDisks)
		return nil
	}
	for _, d := range all {
		f.text("disk", d, phalanx.MaxIDBytes)
	}
	return all
}

func (f *fields) function(m *WorkflowFunction) workflow.Function {
	return workflow.Function{Name: f.text("function", m.GetName(), maxGraphName), Version: f.index("function.version", m.GetVersion())}
}

func (f *fields) functions(all []*WorkflowFunction) (to []workflow.Function) {
	if len(all) > maxRows {
		f.bad("functions", "there are %d, at most %d are allowed", len(all), maxRows)
		return nil
	}
	for _, m := range all {
		to = append(to, f.function(m))
	}
	return to
}

func (f *fields) located(m *WorkflowLocated) workflow.Located {
	return workflow.Located{Task: f.task(m.GetTask()), Gen: m.GetGen(), Made: toAttempt(m.GetMade()), Output: f.output(m.GetOutput()),
		Row: f.text("row", m.GetRow(), phalanx.MaxIDBytes), Disks: f.disks(m.GetDisks()), Deterministic: m.GetDeterministic()}
}

func (f *fields) runResult(m *WorkflowResult) workflow.Result {
	r := workflow.Result{Failed: m.GetFailed()}
	for _, o := range m.GetOutputs() {
		r.Outputs = append(r.Outputs, f.located(o))
	}
	return r
}
