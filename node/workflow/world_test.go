package workflow_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/node/workflow"
	"github.com/phalanx-go/phalanx/protocol/ledger"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

var oneWorld = flag.Int("world", -1, "the seed of the only world to run, with a trace")

const ms = time.Millisecond

// codec is that of the actors, but for what tasks are: all run functions.
type codec struct{}

func (codec) Encode(v core.RowValue) ([]byte, error) { return messages.MarshalRow(v) }
func (codec) Decode(b []byte, tasks int) (core.RowValue, error) {
	return messages.UnmarshalRow(b, tasks)
}
func (codec) Work(parts [][]byte) (*core.Work, error) { return workFrom(bytes.Join(parts, nil)) }

// workFrom returns the workflow of a recorded graph.
func workFrom(form []byte) (*core.Work, error) {
	g, err := messages.UnmarshalGraph(form)
	if err != nil {
		return nil, err
	}
	w := &core.Work{Graph: &core.Graph{}, Digest: durable.DigestOf(form), Of: g}
	for at := 0; at < len(form); at += 1000 {
		w.Parts = append(w.Parts, form[at:min(at+1000, len(form))])
	}
	for v, t := range g.Tasks {
		c := g.Calls[t.Call]
		task := core.Task{Name: fmt.Sprint(c.Name, v), Deterministic: c.Deterministic, Checkpoint: c.Checkpoint, Effect: c.Effect}
		for _, in := range t.Inputs {
			if in.OfTask() && !slices.Contains(task.Reads, int(in.N)) {
				task.Reads = append(task.Reads, int(in.N))
			}
		}
		w.Graph.Tasks = append(w.Graph.Tasks, task)
		w.Calls = append(w.Calls, t.Call)
	}
	for _, c := range g.Calls {
		w.Functions = append(w.Functions, core.Function{Name: c.Name, Version: c.Version})
	}
	return w, nil
}

// world is some nodes with clients, a ledger that moves between them, and a network that loses, repeats and delays
// letters. Every letter goes through its wire form.
type world struct {
	t     *testing.T
	seed  int
	r     *rand.Rand
	now   time.Duration
	rough time.Duration // until then there are faults
	rows  map[string][]byte
	epoch uint64
	nodes []*machine
	later []future
	calls map[uint64]*wish
	runs  map[string]*wish // by id: what Start was answered first
	ended map[string]bool  // by key: the end of the task is durable
}

type future struct {
	at time.Duration
	f  func()
}

// wish is a call of a client.
type wish struct {
	id     string
	number uint64
	call   core.Call
	graph  []byte
	want   []byte // the result
	ends   time.Duration
	uid    core.UID
	over   bool
}

// machine is a node.
type machine struct {
	w       *world
	id      phalanx.NodeID
	member  *workflow.Member
	caller  *workflow.Caller
	lead    *leader
	follows workflow.Follows
	running map[core.AttemptID]bool
}

// leader is a tenure.
type leader struct {
	m      *machine
	tenure *workflow.Tenure
	epoch  uint64
	over   bool
	queue  []workflow.Append
	late   []workflow.Append // they are durable, and cannot be read yet
}

func newWorld(t *testing.T, seed int) *world {
	w := &world{t: t, seed: seed, r: rand.New(rand.NewPCG(uint64(seed), 5)), rough: 8 * time.Second, rows: map[string][]byte{}, calls: map[uint64]*wish{}, runs: map[string]*wish{}, ended: map[string]bool{}}
	for i := range 1 + w.r.IntN(4) {
		m := &machine{w: w, id: phalanx.NodeID(fmt.Sprintf("n%d", i)), caller: workflow.NewCaller(), running: map[core.AttemptID]bool{}}
		m.member = workflow.NewMember(core.Offer{Slots: 3, Functions: []core.Function{{Name: "f", Version: 1}}, Disk: string(m.id)})
		w.nodes = append(w.nodes, m)
	}
	for _, m := range w.nodes {
		m.call(workflow.Around{Self: m.id, Nodes: w.ids()})
	}
	return w
}

func (w *world) ids() (all []phalanx.NodeID) {
	for _, m := range w.nodes {
		all = append(all, m.id)
	}
	return all
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("seed %d at %v: %s", w.seed, w.now, fmt.Sprintf(format, args...))
}

func (w *world) trace(format string, args ...any) {
	if *oneWorld >= 0 {
		w.t.Logf("%v "+format, append([]any{w.now}, args...)...)
	}
}

func (w *world) after(d time.Duration, f func()) { w.later = append(w.later, future{w.now + d, f}) }

func (w *world) faults() bool { return w.now < w.rough }

// letter sends a letter.
func (m *machine) letter(to phalanx.NodeID, letter any) {
	w := m.w
	times := 1
	if w.faults() && m.id != to {
		times = w.r.IntN(10) / 2 % 3 // 0, 1, 2
	}
	l, err := messages.WorkflowToProto(m.id, to, letter)
	if err != nil {
		w.fail("%T: %v", letter, err)
	}
	for range times {
		delay := time.Duration(1+w.r.IntN(3)) * ms
		if w.faults() && w.r.IntN(10) == 0 {
			delay = time.Duration(w.r.IntN(3000)) * ms
		}
		w.after(delay, func() {
			from, to, letter, err := messages.WorkflowFromProto(l)
			if err != nil {
				w.fail("%v: %v", l, err)
			}
			for _, n := range w.nodes {
				if n.id == to {
					n.heard(from, letter)
				}
			}
		})
	}
}

func (m *machine) heard(from phalanx.NodeID, letter any) {
	m.w.trace("%s <- %s %T %+v", m.id, from, letter, letter)
	switch l := letter.(type) {
	case core.Tell, core.Taken, core.Busy, core.Report, core.BlobWritten, core.Freed:
		if m.lead != nil {
			m.lead.step(workflow.Heard{From: from, Message: l.(core.Message)})
		}
	case core.Message:
		m.local(workflow.Got{From: from, Message: l})
	case workflow.WantRows:
		if m.lead != nil && m.lead.epoch == l.Epoch {
			h := workflow.HaveRows{Epoch: l.Epoch}
			for _, k := range l.Keys {
				if b, is := m.w.rows[k]; is {
					v, err := messages.UnmarshalRow(b, 0)
					if err != nil {
						m.w.fail("row %s: %v", k, err)
					}
					h.Rows = append(h.Rows, workflow.OutputRow{Key: k, Bytes: v.(core.OutputBytes).Bytes})
				}
			}
			m.letter(from, h)
		}
	case workflow.HaveRows:
		m.local(workflow.GotRows{From: from, Rows: l})
	case workflow.Request:
		if m.lead == nil {
			m.letter(from, workflow.Elsewhere{Number: l.Number, Controller: m.follows.Node, Epoch: m.follows.Epoch, Disk: true})
			return
		}
		if start, is := l.Call.(core.StartRun); is {
			work, err := workFrom(l.Graph)
			if err != nil {
				m.w.fail("the graph of a start: %v", err)
			}
			start.Work = work
			l.Call = start
		}
		m.lead.step(workflow.Asked{From: from, Request: l})
	case workflow.Withdrawn:
		if m.lead != nil {
			m.lead.step(workflow.Unasked{From: from, Number: l.Number})
		}
	case workflow.Reply:
		m.call(workflow.Replied{From: from, Reply: l})
	case workflow.Elsewhere:
		m.call(workflow.Redirected{From: from, Elsewhere: l})
	}
}

// local gives the executor an event.
func (m *machine) local(ev workflow.MemberEvent) {
	for _, e := range m.member.Step(m.w.now, ev) {
		switch e := e.(type) {
		case workflow.Want:
			m.letter(e.To, e.Letter)
		case workflow.Follows:
			m.follows = e
			m.call(workflow.Leads(e))
		case workflow.Do:
			switch e := e.Effect.(type) {
			case core.RunAttempt:
				m.run(e.Order)
			case core.CancelAttempt:
				if m.running[e.ID] {
					delete(m.running, e.ID)
					m.local(workflow.Local{Event: core.AttemptEnded{ID: e.ID, Failed: "canceled"}})
				}
			case core.ToController:
				m.letter(e.To, e.Message)
			}
		}
	}
}

// run runs an attempt: its output is its constant, and behind it its inputs.
func (m *machine) run(o core.Order) {
	if m.running[o.ID] {
		m.w.fail("%+v begins twice", o.ID)
	}
	m.running[o.ID] = true
	job := o.Of.(*messages.Job)
	var out []byte
	for _, in := range job.Args {
		if in.OfTask() {
			l := o.Inputs[in.N]
			if int64(len(l.Output.Bytes)) != l.Output.Size {
				m.w.fail("an input of %+v has %d of %d bytes", o.ID, len(l.Output.Bytes), l.Output.Size)
			}
			out = append(out, l.Output.Bytes...)
		} else {
			out = append(out, job.Constants[in.N]...)
		}
	}
	if job.Call.Effect == core.Idempotent && m.w.ended[o.Key(false)] {
		m.w.fail("%+v begins after the end of the task is durable", o.ID)
	}
	m.w.after(time.Duration(m.w.r.IntN(200))*ms, func() {
		if m.running[o.ID] {
			delete(m.running, o.ID)
			m.local(workflow.Local{Event: core.AttemptEnded{ID: o.ID, Output: core.Output{Size: int64(len(out)), Digest: durable.DigestOf(out), Recorded: true, Bytes: out}}})
		}
	})
}

// call gives the calls of clients an event.
func (m *machine) call(ev workflow.CallerEvent) {
	for _, e := range m.caller.Step(m.w.now, ev) {
		switch e := e.(type) {
		case workflow.Deliver:
			m.letter(e.To, e.Request)
		case workflow.Dismiss:
			m.letter(e.To, e.Withdrawn)
		case workflow.Returned:
			m.w.returned(e)
		}
	}
}

func (w *world) returned(e workflow.Returned) {
	k := w.calls[e.Number]
	w.trace("call %d returns %+v", e.Number, e.Answer)
	switch {
	case k == nil || k.over:
		w.fail("call %d returns twice", e.Number)
	case w.now > k.ends:
		w.fail("call %d returns %v after its deadline", e.Number, w.now-k.ends)
	}
	k.over = true
	if e.Answer.Err != nil {
		if !errors.Is(e.Answer.Err, phalanx.ErrUnavailable) && !errors.Is(e.Answer.Err, phalanx.ErrDeadline) {
			w.fail("call %d fails with %v", e.Number, e.Answer.Err)
		}
		if !w.faults() && k.ends-w.rough > 20*time.Second {
			w.fail("call %d fails without faults: %v", e.Number, e.Answer.Err)
		}
		return
	}
	if first := w.runs[k.id]; first == nil {
		w.runs[k.id] = k
		k.uid = e.Answer.Run
	} else if e.Answer.Run != first.uid {
		w.fail("run %s is %s, and was %s", k.id, e.Answer.Run, first.uid)
	}
	if r := e.Answer.Result; r != nil && (r.Failed != "" || len(r.Outputs) != 1 || !bytes.Equal(r.Outputs[0].Output.Bytes, k.want)) {
		w.fail("run %s ends with %.200q, want %d bytes", k.id, fmt.Sprintf("%+v", r), len(k.want))
	}
}

// newTenure has another node lead, or the same one again. What the last one has appended may be durable or not, in order.
func (w *world) newTenure() {
	for _, m := range w.nodes {
		if l := m.lead; l != nil {
			m.lead = nil
			l.over = true
			for _, a := range append(l.late, l.queue[:w.r.IntN(len(l.queue)+1)]...) {
				w.apply(a)
			}
			l.carryOut(l.tenure.Step(w.now, workflow.Ended{}))
		}
	}
	w.epoch++
	m := w.nodes[w.r.IntN(len(w.nodes))]
	m.lead = &leader{m: m, epoch: w.epoch, tenure: workflow.NewTenure(core.ControllerConfig{Ledger: 1, Epoch: w.epoch}, codec{}, w.now)}
	w.trace("%s leads in epoch %d", m.id, w.epoch)
	m.lead.carryOut(m.lead.tenure.Begin())
	m.lead.step(workflow.View{Members: core.Members{View: core.ViewNumber{Number: 1}, Nodes: w.ids()}})
}

// show has Appends up to a number be read.
func (l *leader) show(number uint64) {
	for !l.over && len(l.late) > 0 && l.late[0].Number <= number {
		l.m.w.apply(l.late[0])
		l.late = l.late[1:]
	}
}

func (w *world) apply(a workflow.Append) {
	for _, r := range a.Rows {
		switch {
		case r.Value != nil:
			w.rows[r.Key] = r.Value
			w.note(r)
		case r.End != "":
			maps.DeleteFunc(w.rows, func(k string, _ []byte) bool { return k >= r.Key && k < r.End })
		default:
			delete(w.rows, r.Key)
		}
	}
}

// note takes note of which tasks have ended.
func (w *world) note(r ledger.Row) {
	v, err := messages.UnmarshalRow(r.Value, core.MaxTasks)
	if err != nil {
		w.fail("row %s: %v", r.Key, err)
	}
	if b, is := v.(core.Batch); is {
		for _, rec := range b.Records {
			if e, is := rec.(core.Ended); is {
				w.ended[fmt.Sprintf("%s/%d", strings.Split(r.Key, "/")[1], e.Task)] = true
			}
		}
	}
}

func (l *leader) step(ev workflow.TenureEvent) { l.carryOut(l.tenure.Step(l.m.w.now, ev)) }

func (l *leader) carryOut(effects []workflow.TenureEffect) {
	w := l.m.w
	later := func(ev workflow.TenureEvent) {
		w.after(time.Duration(w.r.IntN(5))*ms, func() {
			if !l.over {
				l.step(ev)
			}
		})
	}
	for _, e := range effects {
		w.trace("  %s: %T %+v", l.m.id, e, e)
		switch e := e.(type) {
		case workflow.Append:
			if l.over {
				w.fail("an append after the end")
			}
			l.queue = append(l.queue, e)
			w.after(time.Duration(1+w.r.IntN(10))*ms, func() {
				for !l.over && len(l.queue) > 0 && l.queue[0].Number <= e.Number { // others of the same sync as well
					l.late = append(l.late, l.queue[0])
					l.queue = l.queue[1:]
				}
				w.after(time.Duration(w.r.IntN(10))*ms, func() { l.show(e.Number) })
				if !l.over {
					l.step(workflow.Appended{Number: e.Number})
				}
			})
		case workflow.Look:
			later(workflow.Looked{Number: e.Number, Rows: w.look(e)})
		case workflow.AskSure:
			w.after(time.Duration(w.r.IntN(5))*ms, func() {
				if !l.over {
					if len(l.late) > 0 {
						l.show(l.late[len(l.late)-1].Number)
					}
					l.step(workflow.Assured(e))
				}
			})
		case workflow.Tell:
			if o, is := e.Message.(core.Order); is {
				g := o.Of.(*messages.Graph)
				e.Message = messages.Fit(o, g, 1000, func(l core.Located) string { return core.OutputRow(o.ID.Run, l) })
			}
			l.m.letter(e.To, e.Message)
		case workflow.Respond:
			l.m.letter(e.To, e.Reply)
		case workflow.GiveUp:
			w.fail("the tenure is given up: %s", e.Why)
		}
	}
}

func (w *world) look(l workflow.Look) (all []ledger.Row) {
	for _, k := range slices.Sorted(maps.Keys(w.rows)) {
		for _, r := range l.Ranges {
			if k == r.Key || r.End != "" && k >= r.Key && k < r.End {
				all = append(all, ledger.Row{Key: k, Value: w.rows[k]})
			}
		}
	}
	return all
}

// graph returns a random workflow, and its result.
func (w *world) graph() (form, result []byte) {
	g := &messages.Graph{}
	var outs [][]byte
	n := 1 + w.r.IntN(6)
	var left []uint32 // outputs that nobody reads
	for v := range n {
		t := messages.GraphTask{Call: 0}
		constant := bytes.Repeat([]byte{byte('a' + v)}, []int{1, 200, 300, 3000}[w.r.IntN(4)])
		g.Constants = append(g.Constants, constant)
		t.Inputs = append(t.Inputs, messages.GraphInput{Kind: messages.InputConstant, N: uint32(v)})
		out := slices.Clone(constant)
		reads := left
		if v < n-1 && len(left) > 0 {
			reads = left[:w.r.IntN(len(left)+1)]
		}
		for _, p := range reads {
			t.Inputs = append(t.Inputs, messages.GraphInput{Kind: messages.InputTask, N: p})
			out = append(out, outs[p]...)
		}
		left = append(slices.Clone(left[len(reads):]), uint32(v))
		g.Tasks = append(g.Tasks, t)
		outs = append(outs, out)
	}
	g.Calls = []messages.GraphCall{{Name: "f", Version: 1, Effect: core.Effect(w.r.IntN(2))}}
	form, err := messages.MarshalGraph(g)
	if err != nil {
		w.fail("%v", err)
	}
	return form, outs[n-1]
}

// ask has a client call.
func (w *world) ask(k *wish) {
	k.number = uint64(len(w.calls) + 1)
	w.calls[k.number] = k
	w.nodes[w.r.IntN(len(w.nodes))].call(workflow.Call{Number: k.number, Call: k.call, Graph: k.graph, Deadline: k.ends})
}

// run lets time pass until all has happened that is to come until then.
func (w *world) run(until time.Duration, done func() bool) {
	for w.now < until && !done() {
		next := until
		for _, f := range w.later {
			next = min(next, f.at)
		}
		for _, m := range w.nodes {
			for _, due := range []func() (time.Duration, bool){m.member.Due, m.caller.Due} {
				if at, ok := due(); ok {
					next = min(next, at)
				}
			}
			if m.lead != nil {
				if at, ok := m.lead.tenure.Due(); ok {
					next = min(next, at)
				}
			}
		}
		w.now = max(w.now, next)
		var now []future
		w.later = slices.DeleteFunc(w.later, func(f future) bool {
			if f.at <= w.now {
				now = append(now, f)
			}
			return f.at <= w.now
		})
		for _, f := range now {
			f.f()
		}
		for _, m := range w.nodes {
			if at, ok := m.member.Due(); ok && at <= w.now {
				m.local(workflow.Local{Event: core.Tick{}})
			}
			if at, ok := m.caller.Due(); ok && at <= w.now {
				m.call(workflow.CallerTick{})
			}
			if l := m.lead; l != nil {
				if at, ok := l.tenure.Due(); ok && at <= w.now {
					l.step(workflow.Tick{})
				}
			}
		}
	}
}

// Letters are lost, repeated or late, and the controller changes: each call returns once and in
// time, all runs end with the right result, and a start that is repeated is one run.
func TestFaults(t *testing.T) {
	seeds, first := 300, 0
	if testing.Short() {
		seeds = 60
	}
	if *oneWorld >= 0 {
		seeds, first = 1, *oneWorld
	}
	for seed := first; seed < first+seeds; seed++ {
		w := newWorld(t, seed)
		w.newTenure()
		for i := range 1 + w.r.IntN(5) {
			form, want := w.graph()
			id := fmt.Sprint("run/", i)
			start := &wish{id: id, call: core.StartRun{ID: id, Key: "key of " + id}, graph: form, ends: 60 * time.Second}
			w.after(time.Duration(w.r.IntN(4000))*ms, func() { w.ask(start) })
			w.after(time.Duration(4000+w.r.IntN(3000))*ms, func() {
				if start.over {
					w.ask(&wish{id: id, call: core.AwaitResult{ID: id}, want: want, ends: w.now + 60*time.Second})
				}
			})
			w.after(w.rough+time.Second, func() {
				w.ask(&wish{id: id, call: core.StartRun{ID: id, Key: "another"}, graph: form, ends: w.now + 30*time.Second})
			})
			w.after(w.rough+3*time.Second, func() { w.ask(&wish{id: id, call: core.AwaitResult{ID: id}, want: want, ends: w.now + 60*time.Second}) })
		}
		for range w.r.IntN(4) {
			w.after(time.Duration(w.r.IntN(8000))*ms, w.newTenure)
		}
		w.run(w.rough+4*time.Second, func() bool { return false })
		w.run(2*time.Minute, func() bool {
			for _, k := range w.calls {
				if !k.over {
					return false
				}
			}
			return true
		})
		for n, k := range w.calls {
			if !k.over {
				w.fail("call %d (%T %s) has not returned", n, k.call, k.id)
			}
		}
		for k := range w.rows {
			if strings.HasPrefix(k, "active/") {
				w.run(w.now+time.Second, func() bool { return false })
				if _, is := w.rows[k]; is {
					w.fail("%s is there at the end", k)
				}
			}
		}
	}
}
