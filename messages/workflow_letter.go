package messages

import (
	"slices"

	"math"
	"time"

	"github.com/phalanx-go/phalanx"
	node "github.com/phalanx-go/phalanx/node/workflow"
	"github.com/phalanx-go/phalanx/protocol/workflow"
)

// WorkflowToProto returns a letter about workflows from one node to another: a workflow.Message, a letter of
// node/workflow, or a piece of one. An Order has a *Job as its Of.
func WorkflowToProto(from, to phalanx.NodeID, letter any) (*WorkflowLetter, error) {
	l := &WorkflowLetter{From: string(from), To: string(to)}
	switch m := letter.(type) {
	case workflow.Ask:
		l.Epoch, l.Message = m.Epoch, &WorkflowLetter_Ask{&WorkflowAsk{Number: m.Number, Only: fromUID(m.Only), Part: uint32(m.Part)}}
	case workflow.Order:
		o, err := fromOrder(m)
		if err != nil {
			return nil, err
		}
		l.Epoch, l.Message = m.Epoch, &WorkflowLetter_Order{o}
	case workflow.Recall:
		l.Epoch, l.Message = m.Epoch, &WorkflowLetter_Recall{&WorkflowRecall{Serial: m.Serial, Id: fromAttemptID(m.ID)}}
	case workflow.Acknowledge:
		a := &WorkflowAcknowledge{}
		for _, id := range m.IDs {
			a.Ids = append(a.Ids, fromAttemptID(id))
		}
		l.Epoch, l.Message = m.Epoch, &WorkflowLetter_Acknowledge{a}
	case workflow.WriteBlob:
		l.Epoch, l.Message = m.Epoch, &WorkflowLetter_WriteBlob{&WorkflowWriteBlob{Blob: fromBlob(m.Blob), Output: fromOutput(m.Output), Result: m.Result, Deterministic: m.Deterministic}}
	case workflow.Release:
		r := &WorkflowRelease{Serial: m.Serial}
		for _, run := range m.Runs {
			r.Runs = append(r.Runs, &WorkflowReleased{Run: fromUID(run.Run), Results: run.Results, Spares: run.Spares})
		}
		l.Epoch, l.Message = m.Epoch, &WorkflowLetter_Release{r}
	case workflow.Tell:
		l.Epoch, l.Message = m.Epoch, &WorkflowLetter_Tell{fromWorkflowTell(m)}
	case workflow.Taken:
		l.Epoch, l.Message = m.Epoch, &WorkflowLetter_Taken{fromAttemptID(m.ID)}
	case workflow.Busy:
		l.Epoch, l.Message = m.Epoch, &WorkflowLetter_Busy{fromAttemptID(m.ID)}
	case workflow.Report:
		l.Epoch, l.Message = m.Epoch, &WorkflowLetter_Report{fromReport(m)}
	case workflow.Beaten:
		l.Epoch, l.Message = m.Epoch, &WorkflowLetter_Beaten{&WorkflowBeaten{Id: fromAttemptID(m.ID), Progress: m.Progress}}
	case workflow.Waits:
		l.Epoch, l.Message = m.Epoch, &WorkflowLetter_Waits{&WorkflowWaits{Id: fromAttemptID(m.ID), On: m.On}}
	case workflow.Keeps:
		k := &WorkflowKeeps{}
		for _, u := range m.Runs {
			k.Runs = append(k.Runs, fromUID(u))
		}
		l.Epoch, l.Message = m.Epoch, &WorkflowLetter_Keeps{k}
	case workflow.BlobWritten:
		l.Epoch, l.Message = m.Epoch, &WorkflowLetter_BlobWritten{&WorkflowBlobWritten{Blob: fromBlob(m.Blob), Disk: m.Disk, Failed: fromText(m.Failed), Missing: m.Missing}}
	case workflow.Freed:
		l.Epoch, l.Message = m.Epoch, &WorkflowLetter_Freed{&WorkflowFreed{Serial: m.Serial}}
	case node.WantRows:
		l.Epoch, l.Message = m.Epoch, &WorkflowLetter_WantRows{&WorkflowWantRows{Keys: m.Keys}}
	case node.HaveRows:
		h := &WorkflowHaveRows{}
		for _, r := range m.Rows {
			h.Rows = append(h.Rows, &WorkflowOutputRow{Key: r.Key, Bytes: r.Bytes})
		}
		l.Epoch, l.Message = m.Epoch, &WorkflowLetter_HaveRows{h}
	case node.Request:
		r, err := fromRunRequest(m)
		if err != nil {
			return nil, err
		}
		l.Message = &WorkflowLetter_Request{r}
	case node.Reply:
		l.Message = &WorkflowLetter_Reply{fromRunReply(m)}
	case node.Elsewhere:
		l.Epoch, l.Message = m.Epoch, &WorkflowLetter_Elsewhere{&WorkflowElsewhere{Number: m.Number, Controller: string(m.Controller), Disk: m.Disk}}
	case node.Withdrawn:
		l.Message = &WorkflowLetter_Withdrawn{&WorkflowWithdrawn{Number: m.Number}}
	case node.Restore:
		l.Message = &WorkflowLetter_Restore{&WorkflowRestore{Number: m.Number, Object: string(m.Object), Meta: fromMeta(m.Meta)}}
		l.GetRestore().Blob, l.GetRestore().Place = fromPlace(m.Place)
	case node.Restored:
		l.Message = &WorkflowLetter_Restored{&WorkflowRestored{Number: m.Number, Done: m.Done, Failed: fromText(m.Failed), Disk: m.Disk, Lost: m.Lost}}
	case node.Copy:
		l.Message = &WorkflowLetter_Copy{&WorkflowCopy{Number: m.Number, Object: string(m.Object), Size: m.Size, Digest: fromDigest(m.Digest)}}
		l.GetCopy().Blob, l.GetCopy().Place = fromPlace(m.Place)
	case node.Copied:
		l.Message = &WorkflowLetter_Copied{&WorkflowCopied{Number: m.Number, Failed: fromText(m.Failed)}}
	case node.Which:
		l.Message = &WorkflowLetter_Which{&WorkflowWhich{Number: m.Number, Places: m.Places}}
	case node.These:
		l.Message = &WorkflowLetter_These{&WorkflowThese{Number: m.Number, Disk: m.Disk, Places: m.Places}}
	case node.ActorCall:
		l.Message = &WorkflowLetter_ActorCall{fromActorCall(m)}
	case node.ActorAnswer:
		l.Message = &WorkflowLetter_ActorAnswer{fromActorAnswer(m)}
	case node.ActorOver:
		l.Message = &WorkflowLetter_ActorOver{&WorkflowActorOver{Number: m.Number, Below: m.Below, Turn: m.Turn, Open: m.Open}}
	case node.Piece:
		l.Message = &WorkflowLetter_Piece{&WorkflowPiece{Stream: m.Stream, Offset: uint64(m.Offset), Size: uint64(m.Size), Bytes: m.Bytes}}
	default:
		return nil, unsendable("no form of the letter %T is known", letter)
	}
	return l, nil
}

// WorkflowFromProto is the inverse of WorkflowToProto.
func WorkflowFromProto(l *WorkflowLetter) (from, to phalanx.NodeID, letter any, err error) {
	f := &fields{}
	from, to = f.node("letter.from", l.GetFrom()), f.node("letter.to", l.GetTo())
	e := l.GetEpoch()
	switch m := l.GetMessage().(type) {
	case *WorkflowLetter_Ask:
		letter = workflow.Ask{Epoch: e, Number: m.Ask.GetNumber(), Only: toUID(m.Ask.GetOnly()), Part: f.index("ask.part", m.Ask.GetPart())}
	case *WorkflowLetter_Order:
		o := f.runOrder(m.Order)
		o.Epoch = e
		letter = o
	case *WorkflowLetter_Recall:
		letter = workflow.Recall{Epoch: e, Serial: m.Recall.GetSerial(), ID: f.attemptID(m.Recall.GetId())}
	case *WorkflowLetter_Acknowledge:
		a := workflow.Acknowledge{Epoch: e}
		for _, id := range m.Acknowledge.GetIds() {
			a.IDs = append(a.IDs, f.attemptID(id))
		}
		letter = a
	case *WorkflowLetter_WriteBlob:
		w := m.WriteBlob
		letter = workflow.WriteBlob{Epoch: e, Blob: f.blob(w.GetBlob()), Output: f.output(w.GetOutput()), Result: w.GetResult(), Deterministic: w.GetDeterministic()}
	case *WorkflowLetter_Release:
		r := workflow.Release{Epoch: e, Serial: m.Release.GetSerial()}
		for _, run := range m.Release.GetRuns() {
			r.Runs = append(r.Runs, workflow.Released{Run: f.uid(run.GetRun()), Results: run.GetResults(), Spares: run.GetSpares()})
		}
		letter = r
	case *WorkflowLetter_Tell:
		t := f.workflowTell(m.Tell, e)
		t.Epoch = e
		letter = t
	case *WorkflowLetter_Taken:
		letter = workflow.Taken{Epoch: e, ID: f.attemptID(m.Taken)}
	case *WorkflowLetter_Busy:
		letter = workflow.Busy{Epoch: e, ID: f.attemptID(m.Busy)}
	case *WorkflowLetter_Report:
		letter = f.report(m.Report, e)
	case *WorkflowLetter_Beaten:
		b := workflow.Beaten{Epoch: e, ID: f.attemptID(m.Beaten.GetId()), Progress: m.Beaten.GetProgress()}
		if len(b.Progress) > workflow.MaxProgress {
			f.bad("beaten.progress", "it has %d bytes, more than %d", len(b.Progress), workflow.MaxProgress)
		}
		letter = b
	case *WorkflowLetter_Waits:
		letter = workflow.Waits{Epoch: e, ID: f.attemptID(m.Waits.GetId()), On: m.Waits.GetOn()}
	case *WorkflowLetter_Keeps:
		k := workflow.Keeps{Epoch: e}
		if n := len(m.Keeps.GetRuns()); n > maxListed {
			f.bad("keeps.runs", "there are %d, at most %d are allowed", n, maxListed)
			break
		}
		for _, u := range m.Keeps.GetRuns() {
			k.Runs = append(k.Runs, f.uid(u))
		}
		letter = k
	case *WorkflowLetter_BlobWritten:
		w := m.BlobWritten
		letter = workflow.BlobWritten{Epoch: e, Blob: f.blob(w.GetBlob()), Disk: f.text("disk", w.GetDisk(), phalanx.MaxIDBytes), Failed: w.GetFailed(), Missing: w.GetMissing()}
	case *WorkflowLetter_Freed:
		letter = workflow.Freed{Epoch: e, Serial: m.Freed.GetSerial()}
	case *WorkflowLetter_WantRows:
		w := node.WantRows{Epoch: e, Keys: m.WantRows.GetKeys()}
		if len(w.Keys) > node.MaxKeys {
			f.bad("want_rows.keys", "there are %d, at most %d are allowed", len(w.Keys), node.MaxKeys)
		}
		for _, k := range w.Keys {
			f.text("want_rows.key", k, phalanx.MaxIDBytes)
		}
		letter = w
	case *WorkflowLetter_HaveRows:
		h := node.HaveRows{Epoch: e}
		for _, r := range m.HaveRows.GetRows() {
			if len(r.GetBytes()) > maxOutputBytes {
				f.bad("have_rows.bytes", "an output has %d bytes, at most %d are allowed", len(r.GetBytes()), maxOutputBytes)
			}
			h.Rows = append(h.Rows, node.OutputRow{Key: f.text("have_rows.key", r.GetKey(), phalanx.MaxIDBytes), Bytes: r.GetBytes()})
		}
		letter = h
	case *WorkflowLetter_Request:
		letter = f.runRequest(m.Request)
	case *WorkflowLetter_Reply:
		letter = f.runReply(m.Reply)
	case *WorkflowLetter_Elsewhere:
		letter = node.Elsewhere{Number: m.Elsewhere.GetNumber(), Controller: f.maybeNode("elsewhere.controller", m.Elsewhere.GetController()), Epoch: e, Disk: m.Elsewhere.GetDisk()}
	case *WorkflowLetter_Withdrawn:
		letter = node.Withdrawn{Number: m.Withdrawn.GetNumber()}
	case *WorkflowLetter_Restore:
		letter = node.Restore{Number: m.Restore.GetNumber(), Place: f.place("restore.place", m.Restore.GetBlob(), m.Restore.GetPlace()),
			Object: f.object("restore.object", m.Restore.GetObject()), Meta: f.meta("restore.meta", m.Restore.GetMeta())}
	case *WorkflowLetter_Restored:
		letter = node.Restored{Number: m.Restored.GetNumber(), Done: m.Restored.GetDone(), Failed: m.Restored.GetFailed(),
			Disk: f.text("restored.disk", m.Restored.GetDisk(), phalanx.MaxIDBytes), Lost: m.Restored.GetLost()}
	case *WorkflowLetter_Copy:
		letter = node.Copy{Number: m.Copy.GetNumber(), Place: f.place("copy.place", m.Copy.GetBlob(), m.Copy.GetPlace()), Object: f.object("copy.object", m.Copy.GetObject()), Size: m.Copy.GetSize(), Digest: f.digest("copy.digest", m.Copy.GetDigest())}
	case *WorkflowLetter_Copied:
		letter = node.Copied{Number: m.Copied.GetNumber(), Failed: m.Copied.GetFailed()}
	case *WorkflowLetter_Which:
		letter = node.Which{Number: m.Which.GetNumber(), Places: f.places("which.places", m.Which.GetPlaces())}
	case *WorkflowLetter_These:
		letter = node.These{Number: m.These.GetNumber(), Disk: f.text("these.disk", m.These.GetDisk(), phalanx.MaxIDBytes), Places: f.places("these.places", m.These.GetPlaces())}
	case *WorkflowLetter_ActorCall:
		letter = f.actorCall(m.ActorCall, to)
	case *WorkflowLetter_ActorAnswer:
		letter = f.actorAnswer(m.ActorAnswer)
	case *WorkflowLetter_ActorOver:
		letter = node.ActorOver{Number: m.ActorOver.GetNumber(), OpenCalls: f.openCalls("actor_over.open", m.ActorOver)}
	case *WorkflowLetter_Piece:
		p := m.Piece
		if p.GetSize() > node.MaxLetter || p.GetOffset() > p.GetSize() {
			f.bad("piece", "it is at %d of %d bytes, and a letter has at most %d", p.GetOffset(), p.GetSize(), node.MaxLetter)
			break
		}
		letter = node.Piece{Stream: p.GetStream(), Offset: int(p.GetOffset()), Size: int(p.GetSize()), Bytes: p.GetBytes()}
	default:
		f.missing("letter.message")
	}
	return from, to, letter, f.err
}

// fromPlace returns the output whose checkpoint has a place, or the place of one that is no output's.
func fromPlace(place string) (*WorkflowBlob, string) {
	if b, is := node.BlobAt(place); is {
		return fromBlob(b), ""
	}
	return nil, place
}

func (f *fields) place(name string, b *WorkflowBlob, place string) string {
	if b != nil {
		return node.PlaceOf(f.blob(b))
	}
	return f.text(name, place, phalanx.MaxIDBytes)
}

// places reads the places of checkpoints.
func (f *fields) places(name string, all []string) []string {
	if len(all) > node.MaxPlaces {
		f.bad(name, "there are %d, at most %d are allowed", len(all), node.MaxPlaces)
		return nil
	}
	for _, p := range all {
		f.text(name, p, phalanx.MaxIDBytes)
	}
	return all
}

func fromAttemptID(a workflow.AttemptID) *WorkflowAttemptID {
	return &WorkflowAttemptID{Run: fromUID(a.Run), Task: uint32(a.Task), Attempt: fromAttempt(a.Attempt)}
}

func (f *fields) attemptID(m *WorkflowAttemptID) workflow.AttemptID {
	return workflow.AttemptID{Run: f.uid(m.GetRun()), Task: f.task(m.GetTask()), Attempt: toAttempt(m.GetAttempt())}
}

func fromOrder(o workflow.Order) (*WorkflowOrder, error) {
	j, is := o.Of.(*Job)
	if !is {
		return nil, unsendable("an order has a %T, and no job", o.Of)
	}
	g, err := j.marshal(len(o.Inputs))
	if err != nil {
		return nil, err
	}
	m := &WorkflowOrder{Serial: o.Serial, Id: fromAttemptID(o.ID), Gen: o.Gen, Kind: uint32(o.Kind), Generation: o.Generation, Fence: fromAttempt(o.Fence), Made: fromAttempt(o.Made),
		Function: &WorkflowFunction{Name: o.Function.Name, Version: uint32(o.Function.Version)}, Attempts: uint32(min(o.Attempts, math.MaxInt32)),
		Job: &WorkflowJob{Graph: g, Object: j.Object, Result: j.Result}, Progress: o.Progress}
	for _, in := range o.Inputs {
		m.Inputs = append(m.Inputs, fromLocated(in))
	}
	if o.Output != nil {
		m.Output = fromLocated(*o.Output)
	}
	return m, nil
}

func (f *fields) runOrder(m *WorkflowOrder) workflow.Order {
	o := workflow.Order{Serial: m.GetSerial(), ID: f.attemptID(m.GetId()), Gen: m.GetGen(), Kind: f.attemptKind(m.GetKind()), Generation: m.GetGeneration(),
		Fence: toAttempt(m.GetFence()), Made: toAttempt(m.GetMade()), Function: f.function(m.GetFunction()), Attempts: f.index("order.attempts", m.GetAttempts()), Progress: m.GetProgress()}
	for _, in := range m.GetInputs() {
		o.Inputs = append(o.Inputs, f.located(in))
	}
	if m.GetOutput() != nil {
		l := f.located(m.GetOutput())
		o.Output = &l
	}
	j := m.GetJob()
	if j == nil {
		f.missing("order.job")
		return o
	}
	job, err := unmarshalJob(j.GetGraph(), len(o.Inputs))
	if err != nil {
		f.bad("order.job", "%w", err)
		return o
	}
	job.Object, job.Result = j.GetObject(), j.GetResult()
	o.Of = job
	return o
}

func (f *fields) attemptKind(n uint32) workflow.Kind {
	if n > uint32(workflow.Remake) {
		f.bad("kind", "the value %d is not known", n)
	}
	return workflow.Kind(n)
}

func fromWorkflowTell(t workflow.Tell) *WorkflowTell {
	m := &WorkflowTell{Number: t.Number, Part: uint32(t.Part), Parts: uint32(t.Parts), Slots: uint32(max(0, t.Slots)), Functions: fromFunctions(t.Functions), Disk: t.Disk, Holds: fromBlobs(t.Holds)}
	for _, r := range t.Running {
		m.Running = append(m.Running, &WorkflowRunning{Id: fromAttemptID(r.ID), Gen: r.Gen, Kind: uint32(r.Kind)})
	}
	for _, r := range t.Ended {
		m.Ended = append(m.Ended, fromReport(r))
	}
	return m
}

func (f *fields) workflowTell(m *WorkflowTell, epoch uint64) workflow.Tell {
	t := workflow.Tell{Number: m.GetNumber(), Part: f.index("tell.part", m.GetPart()), Parts: f.index("tell.parts", m.GetParts()), Slots: f.index("tell.slots", m.GetSlots()),
		Functions: f.functions(m.GetFunctions()), Disk: f.text("tell.disk", m.GetDisk(), phalanx.MaxIDBytes), Holds: f.blobs("tell.holds", m.GetHolds())}
	for _, r := range m.GetRunning() {
		t.Running = append(t.Running, workflow.Running{ID: f.attemptID(r.GetId()), Gen: r.GetGen(), Kind: f.attemptKind(r.GetKind())})
	}
	for _, r := range m.GetEnded() {
		t.Ended = append(t.Ended, f.report(r, epoch))
	}
	return t
}

func fromReport(r workflow.Report) *WorkflowReport {
	m := &WorkflowReport{Id: fromAttemptID(r.ID), Gen: r.Gen, Kind: uint32(r.Kind), Failed: fromText(r.Failed), Final: r.Final, Lost: r.Lost, Missing: fromBlobs(r.Missing),
		Unsaved: fromBlobs(r.Unsaved), Output: fromOutput(r.Output), Progress: r.Progress}
	if r.Work != nil {
		m.Graph = slices.Concat(r.Work.Parts...)
	}
	return m
}

func fromTexts(all []string) (to []string) {
	for _, s := range all {
		to = append(to, fromText(s))
	}
	return to
}

// names decodes names of tasks.
func (f *fields) names(name string, all []string) []string {
	if len(all) > maxListed {
		f.bad(name, "there are %d", len(all))
		return nil
	}
	return all
}

func (f *fields) report(m *WorkflowReport, epoch uint64) workflow.Report {
	r := workflow.Report{Epoch: epoch, ID: f.attemptID(m.GetId()), Gen: m.GetGen(), Kind: f.attemptKind(m.GetKind()), Failed: m.GetFailed(), Final: m.GetFinal(), Lost: m.GetLost(),
		Missing: f.blobs("report.missing", m.GetMissing()), Unsaved: f.blobs("report.unsaved", m.GetUnsaved()), Output: f.output(m.GetOutput()), Progress: m.GetProgress()}
	if len(r.Progress) > workflow.MaxProgress {
		f.bad("report.progress", "it has %d bytes, more than %d", len(r.Progress), workflow.MaxProgress)
	}
	if form := m.GetGraph(); len(form) > workflow.MaxReturned {
		f.bad("report.graph", "it has %d bytes, more than %d", len(form), workflow.MaxReturned)
	} else if len(form) > 0 {
		r.Work = &workflow.Work{Parts: workflow.CutForm(form)}
	}
	return r
}

func fromRunRequest(r node.Request) (*WorkflowRequest, error) {
	m := &WorkflowRequest{Number: r.Number, Patience: int64(r.Patience)}
	switch c := r.Call.(type) {
	case workflow.StartRun:
		m.Call = &WorkflowRequest_Start{&WorkflowStart{Id: c.ID, Key: c.Key, Graph: r.Graph}}
	case workflow.AttachRun:
		m.Call = &WorkflowRequest_Attach{c.ID}
	case workflow.AwaitResult:
		m.Call = &WorkflowRequest_Await{c.ID}
	case workflow.GetStatus:
		m.Call = &WorkflowRequest_Status{c.ID}
		if c.Tasks {
			m.Call = &WorkflowRequest_Tasks{c.ID}
		}
	case workflow.ReadRun:
		m.Call = &WorkflowRequest_Read{&WorkflowReading{Id: c.ID, Log: c.Log, From: c.From}}
	case workflow.ListRuns:
		m.Call = &WorkflowRequest_List{&WorkflowListing{Prefix: c.Prefix, After: c.After, Limit: uint32(max(0, c.Limit))}}
	case workflow.CancelRun:
		m.Call = &WorkflowRequest_Cancel{&WorkflowCancel{Id: c.ID, Cause: fromText(c.Cause)}}
	case workflow.ResumeRun:
		m.Call = &WorkflowRequest_Resume{&WorkflowResume{Id: c.ID, With: fromFunctions(c.With), AcceptLoss: c.AcceptLoss}}
	case workflow.SignalRun:
		m.Call = &WorkflowRequest_Signal{&WorkflowSignal{Id: c.ID, Name: c.Name, Key: c.Key, Bytes: c.Bytes}}
	case workflow.GetLedger:
		m.Call = &WorkflowRequest_Ledger{true}
	case workflow.ForgetRun:
		m.Call = &WorkflowRequest_Forget{c.ID}
	default:
		return nil, unsendable("no form of the call %T is known", c)
	}
	return m, nil
}

func (f *fields) runRequest(m *WorkflowRequest) node.Request {
	r := node.Request{Number: m.GetNumber(), Patience: time.Duration(max(0, m.GetPatience()))}
	switch c := m.GetCall().(type) {
	case *WorkflowRequest_Start:
		r.Call, r.Graph = workflow.StartRun{ID: f.runID(c.Start.GetId()), Key: f.text("start.key", c.Start.GetKey(), phalanx.MaxIDBytes)}, c.Start.GetGraph()
	case *WorkflowRequest_Attach:
		r.Call = workflow.AttachRun{ID: f.runID(c.Attach)}
	case *WorkflowRequest_Await:
		r.Call = workflow.AwaitResult{ID: f.runID(c.Await)}
	case *WorkflowRequest_Status:
		r.Call = workflow.GetStatus{ID: f.runID(c.Status)}
	case *WorkflowRequest_Tasks:
		r.Call = workflow.GetStatus{ID: f.runID(c.Tasks), Tasks: true}
	case *WorkflowRequest_Read:
		r.Call = workflow.ReadRun{ID: f.runID(c.Read.GetId()), Log: c.Read.GetLog(), From: c.Read.GetFrom()}
	case *WorkflowRequest_List:
		r.Call = workflow.ListRuns{Prefix: f.runID(c.List.GetPrefix()), After: f.runID(c.List.GetAfter()), Limit: f.index("list.limit", c.List.GetLimit())}
	case *WorkflowRequest_Cancel:
		r.Call = workflow.CancelRun{ID: f.runID(c.Cancel.GetId()), Cause: c.Cancel.GetCause()}
	case *WorkflowRequest_Resume:
		r.Call = workflow.ResumeRun{ID: f.runID(c.Resume.GetId()), With: f.functions(c.Resume.GetWith()), AcceptLoss: c.Resume.GetAcceptLoss()}
	case *WorkflowRequest_Signal:
		r.Call = workflow.SignalRun{ID: f.runID(c.Signal.GetId()), Name: f.text("signal.name", c.Signal.GetName(), workflow.MaxSignalName),
			Key: f.text("signal.key", c.Signal.GetKey(), workflow.MaxSignalName), Bytes: c.Signal.GetBytes()}
	case *WorkflowRequest_Ledger:
		r.Call = workflow.GetLedger{}
	case *WorkflowRequest_Forget:
		r.Call = workflow.ForgetRun{ID: f.runID(c.Forget)}
	default:
		f.missing("request.call")
	}
	return r
}

func fromRunReply(r node.Reply) *WorkflowReply {
	a := r.Answer
	m := &WorkflowReply{Number: r.Number, Run: fromUID(a.Run), Fresh: a.Fresh, Error: ErrorToProto(a.Err), Busy: r.Busy, Again: r.Again}
	if s := a.Status; s != nil {
		m.Status = &WorkflowStatus{State: uint32(s.State), Why: fromText(s.Why), Tasks: uint32(s.Tasks), Ended: uint32(s.Ended), Running: uint32(s.Running), Ready: uint32(s.Ready), Lacks: fromFunctions(s.Lacks), Lost: fromTexts(s.Lost), Work: fromAtWork(s.Work)}
	}
	for _, l := range a.List {
		m.List = append(m.List, &WorkflowListed{Id: l.ID, Name: fromName(l.Name)})
	}
	if a.Result != nil {
		m.Result = fromRunResult(*a.Result)
	}
	m.Page, m.Ledger = fromPage(a.Page), fromLedger(a.Ledger)
	return m
}

func (f *fields) runReply(m *WorkflowReply) node.Reply {
	r := node.Reply{Number: m.GetNumber(), Busy: m.GetBusy(), Again: m.GetAgain(),
		Answer: workflow.Answer{Run: toUID(m.GetRun()), Fresh: m.GetFresh(), Err: ErrorFromProto(m.GetError())}}
	if s := m.GetStatus(); s != nil {
		r.Answer.Status = &workflow.Status{State: f.runState(s.GetState()), Why: s.GetWhy(), Tasks: f.index("status.tasks", s.GetTasks()), Ended: f.index("status.ended", s.GetEnded()),
			Running: f.index("status.running", s.GetRunning()), Ready: f.index("status.ready", s.GetReady()), Lacks: f.functions(s.GetLacks()), Lost: f.names("status.lost", s.GetLost()), Work: f.atWork(s.GetWork())}
	}
	if len(m.GetList()) > maxListed {
		f.bad("reply.list", "there are %d runs, at most %d are allowed", len(m.GetList()), maxListed)
		return r
	}
	for _, l := range m.GetList() {
		r.Answer.List = append(r.Answer.List, workflow.Listed{ID: f.runID(l.GetId()), Name: f.name(l.GetName())})
	}
	if m.GetResult() != nil {
		result := f.runResult(m.GetResult())
		r.Answer.Result = &result
	}
	r.Answer.Page, r.Answer.Ledger = f.page(m.GetPage()), f.ledger(m.GetLedger())
	return r
}
