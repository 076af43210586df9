package workflows

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/messages"
	lnode "github.com/phalanx-go/phalanx/node/ledger"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
	"github.com/phalanx-go/phalanx/sim"
)

// run is a run that clients want.
type run struct {
	id, key string
	graph   *messages.Graph
	form    []byte
	uid     core.UID
	started bool // acknowledged
	result  *core.Result
	cancels bool // somebody has asked to cancel it
	forgets bool // it is forgotten after its end
	read    bool // its result was read
	done    bool
	signals map[string]*signal
	open    int // calls
}

// signal is one that the run waits for. Two clients send another one under the same name.
type signal struct {
	keys  [2]string
	taken string // the key of the one that counts, by an answer; "": there was none
	over  bool   // a client has heard that one counts
}

// call is a call of a client.
type call struct {
	h      *host
	number uint64
	run    *run
	call   core.Call
	work   *core.Work
	began  time.Duration
	ends   time.Duration // by the process's clock; 0: no deadline
	then   func(core.Answer)
}

// workload makes the clients' calls.
type workload struct {
	s     *service
	times lnode.Config
	runs  []*run
}

func newWorkload(s *service) *workload {
	l := &workload{s: s, times: lnode.Config{AwayAfter: 10 * time.Minute}}
	if s.R.IntN(2) == 0 {
		l.times.AwayAfter = 4 * time.Second
		l.times.Replica.MaxReads = 1 // the ledger is often too busy to say whether a tenure goes on
	}
	return l
}

var errGone = errors.New("the process has ended")

// Plan has clients start runs, and machines and disks fail.
func (s *service) Plan(over time.Duration, add func(time.Duration, func() string)) {
	l := s.work
	for i := range 1 + s.R.IntN(5) {
		r := &run{id: fmt.Sprint("r", i), key: fmt.Sprint("key of ", i), signals: map[string]*signal{}, forgets: s.R.IntN(5) == 0}
		r.graph, r.form = s.randomGraph()
		for _, name := range signalsOf(r.graph) {
			r.signals[name] = &signal{keys: [2]string{fmt.Sprintf("1%7d", s.R.IntN(1000)), fmt.Sprintf("2%7d", s.R.IntN(1000))}}
		}
		add(s.Upto(over*2/3), func() string {
			l.runs = append(l.runs, r)
			l.drive(r)
			if s.R.IntN(3) == 0 { // another client does the same
				s.After(s.Upto(300*ms), func() { l.drive(r) })
			}
			if s.R.IntN(6) == 0 {
				s.After(s.Upto(1500*ms), func() { l.cancel(r) })
			}
			for _, name := range slices.Sorted(maps.Keys(r.signals)) {
				for i := range 1 + s.R.IntN(2) {
					s.After(s.Upto(2000*ms), func() { l.signal(r, name, r.signals[name].keys[i]) })
				}
			}
			s.After(s.Upto(1000*ms), func() { l.look(r) })
			return fmt.Sprintf("a client wants run %s of %d tasks", r.id, len(r.graph.Tasks))
		})
	}
	if !s.Alone {
		return
	}
	for range s.R.IntN(3) / 2 {
		add(s.Upto(over), s.breaks)
	}
	for range s.R.IntN(2) {
		add(s.Upto(over), s.loses)
	}
	for range s.R.IntN(3) / 2 {
		add(s.Upto(over), s.fills)
	}
	for range s.R.IntN(3) {
		add(s.Upto(over), s.rots)
	}
	for range s.R.IntN(3) {
		add(s.Upto(over), func() string {
			s.Met("fault: all machines lose their power")
			recovers := s.R.IntN(2) == 0
			s.Blackout(2*time.Second, func(string) bool {
				if recovers { // once all are without power, and before the first one comes back
					recovers = false
					s.After(0, s.recovers)
				}
				return true
			})
			return "all machines lose their power"
		})
	}
}

// someone returns a process that a client can use, or nil.
func (s *service) someone() *sim.Process {
	all := s.Live()
	if len(all) == 0 {
		return nil
	}
	return all[s.R.IntN(len(all))]
}

// ask has a client call from some node, until that has answered or its process has ended.
func (l *workload) ask(r *run, c core.Call, within time.Duration, then func(core.Answer)) {
	s := l.s
	p := s.someone()
	if p == nil {
		s.After(100*ms, func() { then(core.Answer{Err: errGone}) })
		return
	}
	h := s.hosts[p]
	k := &call{h: h, run: r, call: c, began: s.Now(), then: then}
	r.open++
	s.To(p, func() {
		if h.over {
			s.work.vanished(k)
			return
		}
		h.number++
		k.number = h.number
		if within > 0 {
			k.ends = max(1, p.Now()+within)
		}
		h.calls[k.number] = k
		ev := flow.Call{Number: k.number, Call: c, Deadline: k.ends}
		if _, is := c.(core.StartRun); is {
			ev.Graph = r.form
			if s.R.IntN(2) == 0 {
				k.work, _ = workFrom(r.form)
			}
		}
		h.call(ev)
		s.Wake(p)
	})
	s.After(10*time.Minute, func() {}) // a hung process takes it when it goes on
}

// vanished ends the call of a process that has ended.
func (l *workload) vanished(k *call) {
	k.run.open--
	l.s.After(l.s.Upto(300*ms), func() { k.then(core.Answer{Err: errGone}) })
}

func (h *host) sortedCalls() []*call {
	return slices.SortedFunc(maps.Values(h.calls), func(a, b *call) int { return cmp.Compare(a.number, b.number) })
}

// call gives the calls of clients an event, and carries out its effects.
func (h *host) call(ev flow.CallerEvent) {
	for _, e := range h.caller.Step(h.p.Now(), ev) {
		switch e := e.(type) {
		case flow.Deliver:
			if c := h.keeper.controller; e.To == h.self && c != nil {
				r := e.Request
				if start, is := r.Call.(core.StartRun); is && h.calls[r.Number] != nil && h.calls[r.Number].work != nil {
					start.Work = h.calls[r.Number].work
					r.Call, r.Graph = start, nil
				}
				h.asked(c, flow.Asked{From: h.self, Request: r})
			} else {
				h.send(e.To, e.Request)
			}
		case flow.Dismiss:
			h.send(e.To, e.Withdrawn)
		case flow.Returned:
			k := h.calls[e.Number]
			if k == nil {
				h.Fail("call %d on %s returns twice", e.Number, h.p.Name())
			}
			delete(h.calls, e.Number)
			k.run.open--
			h.tracef("call %d, %T of %s: %+v", e.Number, k.call, k.run.id, e.Answer)
			h.work.returned(k, e.Answer)
			h.After(0, func() { k.then(e.Answer) })
		}
	}
}

// returned checks the answer to a call.
func (l *workload) returned(k *call, a core.Answer) {
	s, r := l.s, k.run
	s.Met(fmt.Sprintf("workflow: %T answered", k.call))
	if c, is := k.call.(core.SignalRun); is {
		s.check.signal(r, c, a.Err)
	}
	if a.Err != nil {
		kind := kindOf(a.Err)
		allowed := kind == phalanx.ErrUnavailable || kind == phalanx.ErrDeadline || kind == phalanx.ErrDeleted && r.forgets
		if _, is := k.call.(core.StartRun); is && errors.Is(a.Err, phalanx.ErrNoSpace) {
			s.Met("workflow: start refused, since the disk is full")
			allowed = true
		}
		switch k.call.(type) {
		case core.SignalRun:
			allowed = allowed || kind == phalanx.ErrClosed || kind == phalanx.ErrNotFound || kind == phalanx.ErrExists
		case core.GetStatus, core.CancelRun, core.ResumeRun, core.AttachRun:
			allowed = allowed || kind == phalanx.ErrNotFound && !r.started || kind == phalanx.ErrNotFound && k.began < s.Now()
			allowed = allowed || kind == phalanx.ErrClosed
		}
		if !allowed {
			s.Fail("(2) %T of %s, which has started: %v, is answered %v", k.call, r.id, r.started, a.Err)
		}
		return
	}
	mine := func() {
		if r.uid.IsZero() {
			r.uid = a.Run
		}
		if r.uid != a.Run {
			s.Fail("(11) %s is run %s, and was %s", r.id, a.Run, r.uid)
		}
	}
	switch k.call.(type) {
	case core.StartRun:
		mine()
		r.started = true
	case core.AttachRun:
		mine()
	case core.AwaitResult:
		mine()
		if old := r.result; old != nil && resultText(old) != resultText(a.Result) {
			s.Fail("(4) the result of %s was %s and is %s", r.id, resultText(old), resultText(a.Result))
		}
		if a.Result.Failed != "" && s.work.faultless() && !r.cancels {
			s.Fail("(14) %s has failed: %s", r.id, a.Result.Failed)
		}
		r.result = a.Result
		s.Met(map[bool]string{true: "workflow: run ends well", false: "workflow: run goes back"}[a.Result.Failed == ""])
		s.check.know(r)
	case core.GetStatus:
		s.check.status(k, a.Status)
	case core.CancelRun:
	}
}

// faultless reports whether no attempt fails.
func (l *workload) faultless() bool { return false }

func resultText(r *core.Result) string {
	text := fmt.Sprintf("%q", r.Failed)
	for _, l := range r.Outputs {
		text += fmt.Sprintf(" %x", l.Output.Digest)
	}
	return text
}

// drive has a client start a run, and wait for its result, until it has that.
func (l *workload) drive(r *run) {
	s := l.s
	if r.done {
		return
	}
	again := func(core.Answer) { s.After(s.Upto(300*ms), func() { l.drive(r) }) }
	within := 20 * time.Second
	if s.R.IntN(3) == 0 && !s.calm {
		within = 1 + s.Upto(1500*ms)
	}
	switch {
	case !r.started:
		l.ask(r, core.StartRun{ID: r.id, Key: r.key}, within, again)
	case r.result == nil:
		if s.R.IntN(4) == 0 {
			within = 0 // as long as some controller answers
		}
		l.ask(r, core.AwaitResult{ID: r.id}, within, again)
	case !r.read:
		l.read(r, func() { again(core.Answer{}) })
	case r.forgets:
		l.ask(r, core.ForgetRun{ID: r.id}, within, func(a core.Answer) {
			if a.Err == nil || kindOf(a.Err) == phalanx.ErrDeleted {
				r.done = true
				s.Met("workflow: run forgotten")
				return
			}
			again(a)
		})
	default:
		r.done = true
	}
}

// read has a client read those outputs with which the run ends that are objects.
func (l *workload) read(r *run, then func()) {
	s, p := l.s, l.s.someone()
	if p == nil || s.hosts[p].member == nil {
		then()
		return
	}
	h, over, wished := s.hosts[p], false, uint64(0)
	finish := func(read bool) {
		if !over {
			if !h.over {
				h.unwish(wished)
			}
			over, r.read = true, r.read || read
			then()
		}
	}
	s.After(10*time.Second, func() { finish(false) }) // the process may end
	left := slices.DeleteFunc(slices.Clone(r.result.Outputs), func(o core.Located) bool { return flow.InputID(r.uid, o) == "" })
	again := func(w flow.Wish, then func()) {
		wished = h.wish(w, func(g flow.Granted) {
			if g.Err != nil && !r.forgotten() {
				s.Fail("(7) the object %s of a result of %s cannot be read: %v", w.Object, r.id, g.Err)
			}
			then()
		})
	}
	var next func()
	var named func(o core.Located, refs []flow.Ref)
	named = func(o core.Located, refs []flow.Ref) {
		if len(refs) == 0 {
			next()
			return
		}
		h.has.Object(r.uid.String(), refs[0].Object, true)
		if len(h.store.holders(refs[0].Object)) > 0 {
			named(o, refs[1:])
			return
		}
		of := flow.NewSources(r.uid)
		of.Add(o, refs)
		n, _ := of.Naming(refs[0].Object)
		again(n.Wish, func() { named(o, refs[1:]) })
	}
	next = func() {
		if len(left) == 0 {
			finish(true)
			return
		}
		o := left[0]
		h.has.Object(r.uid.String(), flow.InputID(r.uid, o), true)
		h.get(flow.InputID(r.uid, o), func(b []byte, gone bool) {
			switch {
			case gone:
				again(flow.WishOf(r.uid, o), next)
			case durable.DigestOf(b) != o.Output.Digest:
				s.Fail("(7) output %d of %s has other bytes than the run has ended with", o.Task, r.id)
			default:
				s.Met("workflow: result read from an object")
				left = left[1:]
				o.Output.Bytes = b
				_, refs, err := opened(o.Output)
				if err != nil {
					s.Fail("(7) output %d of %s: %v", o.Task, r.id, err)
				}
				named(o, refs)
			}
		})
	}
	h.post(next)
}

// forgotten reports whether a client may have forgotten the run.
func (r *run) forgotten() bool { return r.forgets && r.done }

// cancel has a client cancel a run.
func (l *workload) cancel(r *run) {
	if r.done || !r.started {
		return
	}
	r.cancels = true
	l.ask(r, core.CancelRun{ID: r.id, Cause: "somebody wants it"}, 5*time.Second, func(core.Answer) {})
}

// signal has a client tell a run of an event, until it knows that one counts.
func (l *workload) signal(r *run, name, key string) {
	if g := r.signals[name]; r.done || g.over || r.result != nil {
		return
	}
	l.ask(r, core.SignalRun{ID: r.id, Name: name, Key: key, Bytes: []byte(key)}, 5*time.Second, func(core.Answer) {
		l.s.After(l.s.Upto(500*ms), func() { l.signal(r, name, key) })
	})
}

// look has a client look at a run from time to time, and mend what is stuck.
func (l *workload) look(r *run) {
	s := l.s
	if r.done || r.result != nil {
		return
	}
	l.ask(r, core.GetStatus{ID: r.id}, 2*time.Second, func(a core.Answer) {
		if a.Err == nil && a.Status.State == core.Waiting {
			s.Met("workflow: run resumed")
			l.ask(r, core.ResumeRun{ID: r.id}, 2*time.Second, func(core.Answer) {})
		}
		s.After(200*ms+s.Upto(time.Second), func() { l.look(r) })
	})
}

func kindOf(err error) phalanx.Kind {
	var e *phalanx.Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return 0
}

// Missing names a run that has not ended, or returns "".
func (s *service) Missing() string {
	s.calm = true
	for _, r := range s.work.runs {
		if !r.done {
			return fmt.Sprintf("(14) run %s (%s) has not ended; it has started: %v, has a result: %v, %d calls wait", r.id, r.uid, r.started, r.result != nil, r.open)
		}
		if r.open > 0 {
			return fmt.Sprintf("%d calls for run %s, which is over, have not ended", r.open, r.id)
		}
	}
	for _, p := range s.Live() {
		if n := len(s.hosts[p].attempts); n > 0 {
			return fmt.Sprintf("%d attempts on %s go on, and all runs are over", n, p.Name())
		}
		if left := s.hosts[p].actorsLeft(); left != "" {
			return "(12) all runs are over, and " + left
		}
		if c := s.hosts[p].copier; c != nil && c.Busy() {
			return p.Name() + " looks for its checkpoints on other disks"
		}
	}
	h := s.leader()
	if h == nil {
		return "no node leads the ledger"
	}
	rows := s.check.rows
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		if len(key) > 7 && (key[:7] == "active/" || key[:8] == "waiting/" || key[:5] == "wake/") {
			return "all runs are over, and the ledger has the row " + key
		}
	}
	for _, r := range s.work.runs {
		if !r.forgets {
			s.check.run(rows, r)
		}
	}
	if left := s.check.left(rows); left != "" {
		return left
	}
	return s.single()
}

// State describes the nodes.
func (s *service) State() (text string) {
	for _, p := range s.Live() {
		h := s.hosts[p]
		text += fmt.Sprintf("\n  %s as %s: %v, leads %v, %d attempts, %d calls", p.Name(), p.Self, h.keeper.core, h.keeper.controller != nil, len(h.attempts), len(h.calls))
	}
	return text
}

// GiveUp reports that nodes send only what keeps the ledger together.
func (s *service) GiveUp() bool { return true }
