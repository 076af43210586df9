package messages

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/barrier"
)

// BarrierToProto returns a message of from's barrier core to another node.
func BarrierToProto(from, to phalanx.NodeID, m barrier.Message) *BarrierLetter {
	l := &BarrierLetter{From: string(from), To: string(to)}
	switch m := m.(type) {
	case barrier.Reached:
		l.Message = &BarrierLetter_Reached{fromReached(m)}
	case barrier.Answers:
		a := &BarrierAnswers{Key: fromKey(m.Key), Term: m.Term, Standing: fromStanding(m.Standing), Watched: m.Watched, Stamp: int64(m.Stamp), Unknown: m.Unknown, Field: m.Field, More: m.More, Batch: m.Batch, Awaits: fromStrings(m.Awaits)}
		for _, x := range m.List {
			a.List = append(a.List, fromAnswered(x))
		}
		l.Message = &BarrierLetter_Answers{a}
	case barrier.Question:
		q := &BarrierQuestion{Key: fromKey(m.Key), Term: m.Term}
		for _, a := range m.Asked {
			q.Asked = append(q.Asked, fromAsked(a))
		}
		l.Message = &BarrierLetter_Question{q}
	case barrier.Notify:
		l.Message = &BarrierLetter_Told{&BarrierTold{Key: fromKey(m.Key), Term: m.Term, Happened: fromHappened(m.Happened)}}
	case barrier.Reply:
		l.Message = &BarrierLetter_Reply{&BarrierReply{Key: fromKey(m.Key), Ask: m.Ask, Yes: m.Yes, N: int64(m.N)}}
	case barrier.WhoPassed:
		l.Message = &BarrierLetter_WhoPassed{&BarrierWhoPassed{Key: fromKey(m.Key), Id: m.ID, After: fromEntry(m.After), Brief: m.Brief}}
	case barrier.Passed:
		p := &BarrierPassed{Key: fromKey(m.Key), Id: m.ID, Term: m.Term, Known: m.Known, Standing: fromStanding(m.Standing),
			After: fromEntry(m.After), Last: fromEntry(m.Last), Anew: m.Anew, Over: m.Over}
		for _, h := range slices.Sorted(maps.Keys(m.Hosts)) {
			p.Hosts = append(p.Hosts, &BarrierHost{Host: h, Labels: m.Hosts[h]})
		}
		l.Message = &BarrierLetter_Passed{p}
	case barrier.WhoOpened:
		l.Message = &BarrierLetter_WhoOpened{&BarrierWhoOpened{Key: fromKey(m.Key), Stamp: int64(m.Stamp)}}
	case barrier.Opened:
		l.Message = &BarrierLetter_Opened{&BarrierOpened{Key: fromKey(m.Key), Term: m.Term, Stamp: int64(m.Stamp), Config: fromSomeConfig(m.Config), Fired: m.Fired, Late: uint32(m.Late)}}
	case barrier.Remove:
		l.Message = &BarrierLetter_Remove{&BarrierRemove{Key: fromKey(m.Key), Id: m.ID}}
	case barrier.Removed:
		l.Message = &BarrierLetter_Removed{&BarrierRemove{Key: fromKey(m.Key), Id: m.ID, Known: m.Known}}
	case barrier.Replicate:
		r := &BarrierReplicate{Key: fromKey(m.Key), Config: fromSomeConfig(m.Config), Term: m.Term, Seq: m.Seq, Stamp: int64(m.Stamp), From: int64(m.From), Total: int64(m.Total)}
		if m.State != nil {
			r.State = fromBarrierState(*m.State)
		}
		for _, op := range m.Ops {
			r.Ops = append(r.Ops, fromOp(op))
		}
		l.Message = &BarrierLetter_Replicate{r}
	case barrier.Confirm:
		l.Message = &BarrierLetter_Confirm{&BarrierConfirm{Key: fromKey(m.Key), Term: m.Term, Seq: m.Seq, Need: m.Need, Have: int64(m.Have), Stamp: int64(m.Stamp), Fired: fromStrings(m.Fired)}}
	case barrier.Over:
		o := &BarrierOver{Num: m.Num, View: m.View, Anew: m.Anew}
		for _, c := range m.Crowds {
			o.Crowds = append(o.Crowds, &BarrierCrowd{Nodes: fromStrings(c.Nodes), Late: uint32(c.Late), Digests: c.Digests, Places: c.Places})
		}
		l.Message = &BarrierLetter_Over{o}
	case barrier.OverKnown:
		l.Message = &BarrierLetter_OverKnown{m.Num}
	case barrier.Gather:
		l.Message = &BarrierLetter_Gather{&BarrierGather{Term: m.Term, Stamp: int64(m.Stamp), Part: int64(m.Part), Said: int64(m.Said)}}
	case barrier.Gathered:
		g := &BarrierGathered{Term: m.Term, Part: int64(m.Part), More: m.More, Stamp: int64(m.Stamp), Said: int64(m.Said)}
		for _, h := range m.Replicas {
			g.Replicas = append(g.Replicas, &BarrierHeld{Key: fromKey(h.Key), Config: fromSomeConfig(h.Config), Primary: string(h.Primary), Term: h.Term, From: int64(h.From), Total: int64(h.Total),
				Seq: h.Seq, State: fromBarrierState(h.State), Age: int64(h.Age)})
		}
		for _, r := range m.Reached {
			g.Reached = append(g.Reached, fromReached(r))
		}
		l.Message = &BarrierLetter_Gathered{g}
	case barrier.Refused:
		l.Message = &BarrierLetter_RefusedTerm{m.Term}
	case barrier.Forget:
		l.Message = &BarrierLetter_Forget{&BarrierForget{Key: fromKey(m.Key), Term: m.Term}}
	}
	return l
}

// BarrierFromProto is the inverse of BarrierToProto.
func BarrierFromProto(l *BarrierLetter) (from, to phalanx.NodeID, m barrier.Message, err error) {
	f := &fields{}
	from, to = f.node("barrier.from", l.GetFrom()), f.node("barrier.to", l.GetTo())
	m = f.barrier(l)
	if f.err != nil {
		return "", "", nil, f.err
	}
	return from, to, m, nil
}

func (f *fields) barrier(l *BarrierLetter) barrier.Message {
	switch m := l.GetMessage().(type) {
	case *BarrierLetter_Reached:
		return f.reached(m.Reached)
	case *BarrierLetter_Answers:
		a := barrier.Answers{Key: f.key(m.Answers.GetKey()), Term: m.Answers.GetTerm(), Standing: f.standing(m.Answers.GetStanding()), Watched: m.Answers.GetWatched(),
			Stamp: time.Duration(m.Answers.GetStamp()), Unknown: m.Answers.GetUnknown(), Field: m.Answers.GetField(), More: m.Answers.GetMore(), Batch: m.Answers.GetBatch(), Awaits: f.nodes("answers.awaits", m.Answers.GetAwaits())}
		for _, x := range m.Answers.GetList() {
			a.List = append(a.List, barrier.Answered{Entry: f.entry(x.GetEntry()), Attempt: x.GetAttempt(),
				Verdict: small(f, "answer.verdict", x.GetVerdict(), barrier.Outside), Left: time.Duration(x.GetLeft()), Old: x.GetOld()})
		}
		return a
	case *BarrierLetter_Question:
		q := barrier.Question{Key: f.key(m.Question.GetKey()), Term: m.Question.GetTerm()}
		for _, a := range m.Question.GetAsked() {
			q.Asked = append(q.Asked, f.asked(a))
		}
		return q
	case *BarrierLetter_Told:
		return barrier.Notify{Key: f.key(m.Told.GetKey()), Term: m.Told.GetTerm(), Happened: f.happened(m.Told.GetHappened())}
	case *BarrierLetter_Reply:
		return barrier.Reply{Key: f.key(m.Reply.GetKey()), Ask: m.Reply.GetAsk(), Yes: m.Reply.GetYes(), N: int(m.Reply.GetN())}
	case *BarrierLetter_WhoPassed:
		return barrier.WhoPassed{Key: f.key(m.WhoPassed.GetKey()), ID: m.WhoPassed.GetId(), After: f.maybeEntry(m.WhoPassed.GetAfter()), Brief: m.WhoPassed.GetBrief()}
	case *BarrierLetter_Passed:
		p := barrier.Passed{Key: f.key(m.Passed.GetKey()), ID: m.Passed.GetId(), Term: m.Passed.GetTerm(), Known: m.Passed.GetKnown(), Standing: f.standing(m.Passed.GetStanding()),
			After: f.maybeEntry(m.Passed.GetAfter()), Last: f.maybeEntry(m.Passed.GetLast()), Anew: m.Passed.GetAnew(), Over: m.Passed.GetOver()}
		for _, h := range m.Passed.GetHosts() {
			if p.Hosts == nil {
				p.Hosts = map[string][]string{}
			}
			p.Hosts[h.GetHost()] = h.GetLabels()
		}
		return p
	case *BarrierLetter_WhoOpened:
		return barrier.WhoOpened{Key: f.key(m.WhoOpened.GetKey()), Stamp: time.Duration(m.WhoOpened.GetStamp())}
	case *BarrierLetter_Opened:
		return barrier.Opened{Key: f.key(m.Opened.GetKey()), Term: m.Opened.GetTerm(), Stamp: time.Duration(m.Opened.GetStamp()), Config: f.someConfig(m.Opened.GetConfig()),
			Fired: m.Opened.GetFired(), Late: small(f, "opened.late", m.Opened.GetLate(), barrier.CatchUp)}
	case *BarrierLetter_Remove:
		return barrier.Remove{Key: f.key(m.Remove.GetKey()), ID: m.Remove.GetId()}
	case *BarrierLetter_Removed:
		return barrier.Removed{Key: f.key(m.Removed.GetKey()), ID: m.Removed.GetId(), Known: m.Removed.GetKnown()}
	case *BarrierLetter_Replicate:
		r := barrier.Replicate{Key: f.key(m.Replicate.GetKey()), Config: f.someConfig(m.Replicate.GetConfig()), Term: m.Replicate.GetTerm(), Seq: m.Replicate.GetSeq(),
			Stamp: time.Duration(m.Replicate.GetStamp()), From: f.items("replicate.from", m.Replicate.GetFrom()), Total: f.items("replicate.total", m.Replicate.GetTotal())}
		if s := m.Replicate.GetState(); s != nil {
			state := f.barrierState(s)
			r.State = &state
		}
		for _, op := range m.Replicate.GetOps() {
			r.Ops = append(r.Ops, f.op(op))
		}
		return r
	case *BarrierLetter_Confirm:
		return barrier.Confirm{Key: f.key(m.Confirm.GetKey()), Term: m.Confirm.GetTerm(), Seq: m.Confirm.GetSeq(), Need: m.Confirm.GetNeed(),
			Have: f.items("confirm.have", m.Confirm.GetHave()), Stamp: time.Duration(m.Confirm.GetStamp()), Fired: f.nodes("confirm.fired", m.Confirm.GetFired())}
	case *BarrierLetter_Over:
		o := barrier.Over{Num: m.Over.GetNum(), View: m.Over.GetView(), Anew: m.Over.GetAnew()}
		for _, c := range m.Over.GetCrowds() {
			if len(c.GetDigests()) != len(c.GetPlaces()) {
				f.bad("over.places", "%d places of %d barriers", len(c.GetPlaces()), len(c.GetDigests()))
			}
			o.Crowds = append(o.Crowds, barrier.Crowd{Nodes: f.nodes("over.nodes", c.GetNodes()), Digests: c.GetDigests(), Places: c.GetPlaces(), Late: small(f, "over.late", c.GetLate(), barrier.CatchUp)})
		}
		return o
	case *BarrierLetter_OverKnown:
		return barrier.OverKnown{Num: m.OverKnown}
	case *BarrierLetter_Gather:
		return barrier.Gather{Term: m.Gather.GetTerm(), Stamp: time.Duration(m.Gather.GetStamp()), Part: f.items("gather.part", m.Gather.GetPart()), Said: time.Duration(m.Gather.GetSaid())}
	case *BarrierLetter_Gathered:
		g := barrier.Gathered{Term: m.Gathered.GetTerm(), Part: f.items("gathered.part", m.Gathered.GetPart()), More: m.Gathered.GetMore(),
			Stamp: time.Duration(m.Gathered.GetStamp()), Said: time.Duration(m.Gathered.GetSaid())}
		for _, h := range m.Gathered.GetReplicas() {
			g.Replicas = append(g.Replicas, barrier.Held{Key: f.key(h.GetKey()), Config: f.someConfig(h.GetConfig()), From: f.items("held.from", h.GetFrom()), Total: f.items("held.total", h.GetTotal()), Primary: f.maybeNode("held.primary", h.GetPrimary()),
				Term: h.GetTerm(), Seq: h.GetSeq(), State: f.barrierState(h.GetState()), Age: time.Duration(h.GetAge())})
		}
		for _, r := range m.Gathered.GetReached() {
			g.Reached = append(g.Reached, f.reached(r))
		}
		return g
	case *BarrierLetter_RefusedTerm:
		return barrier.Refused{Term: m.RefusedTerm}
	case *BarrierLetter_Forget:
		return barrier.Forget{Key: f.key(m.Forget.GetKey()), Term: m.Forget.GetTerm()}
	}
	f.missing("barrier.message")
	return nil
}

// small decodes a value of an enumeration up to last.
func small[T ~uint8](f *fields, name string, v uint32, last T) T {
	if v > uint32(last) {
		f.bad(name, "%d is none", v)
		return 0
	}
	return T(v)
}

// number decodes a number of things.
func (f *fields) number(name string, n int64) int {
	if n < 0 || n > barrier.MaxUnits*4 {
		f.bad(name, "%d is no number of units", n)
		return 0
	}
	return int(n)
}

// items decodes a number of things that nothing bounds but memory. Nothing is allocated for it.
func (f *fields) items(name string, n int64) int {
	if n < 0 || n > math.MaxInt32 {
		f.bad(name, "%d is no number of items", n)
		return 0
	}
	return int(n)
}

func fromKey(k barrier.Key) *BarrierKey {
	return &BarrierKey{Name: k.Name, Generation: k.Generation}
}

func (f *fields) key(m *BarrierKey) barrier.Key {
	k := barrier.Key{Name: m.GetName(), Generation: m.GetGeneration()}
	if err := k.Validate(); err != nil {
		f.bad("barrier.key", "%w", err)
	}
	return k
}

func fromEntry(e barrier.Entry) *BarrierEntry {
	if e == (barrier.Entry{}) {
		return nil
	}
	return &BarrierEntry{Host: e.Host, Label: e.Label}
}

// maybeEntry decodes an entry that may be empty.
func (f *fields) maybeEntry(m *BarrierEntry) barrier.Entry {
	if m == nil {
		return barrier.Entry{}
	}
	return f.entry(m)
}

func (f *fields) entry(m *BarrierEntry) barrier.Entry {
	e := barrier.Entry{Host: m.GetHost(), Label: m.GetLabel()}
	if err := e.Validate(); err != nil {
		f.bad("barrier.entry", "%w", err)
	}
	return e
}

func fromEntries(all []barrier.Entry) []*BarrierEntry {
	var out []*BarrierEntry
	for _, e := range all {
		out = append(out, fromEntry(e))
	}
	return out
}

func (f *fields) entries(all []*BarrierEntry) []barrier.Entry {
	var out []barrier.Entry
	for _, e := range all {
		out = append(out, f.entry(e))
	}
	return out
}

func fromBarrierConfig(c barrier.Config) *BarrierConfig {
	return &BarrierConfig{Max: int64(c.Max), Timeout: int64(c.Timeout), Percent: int64(c.Percent), MinWait: int64(c.MinWait), Late: uint32(c.Late), Expect: c.Expect,
		Ask: c.Callback, AskGap: int64(c.CallbackTimeout), KneePercent: int64(c.Knee.Percent), KneeTime: int64(c.Knee.Time),
		ThrottlePercent: int64(c.Throttle.Percent), ThrottleCount: int64(c.Throttle.Count), ThrottlePeriod: int64(c.Throttle.Period),
		SemaphoreCount: int64(c.Semaphore.Count), SemaphoreTimeout: int64(c.Semaphore.Timeout), SemaphoreAdaptive: c.Semaphore.Adaptive,
		SemaphoreCap: int64(c.Semaphore.Cap), SemaphoreAsk: c.Semaphore.Callback, Double: c.Double}
}

// fromSomeConfig is fromBarrierConfig of a Config that may be zero.
func fromSomeConfig(c barrier.Config) *BarrierConfig {
	if c.None() {
		return nil
	}
	return fromBarrierConfig(c)
}

func (f *fields) someConfig(m *BarrierConfig) barrier.Config {
	if m == nil {
		return barrier.Config{}
	}
	return f.barrierConfig(m)
}

// barrierConfig decodes a configuration that its own checks let through.
func (f *fields) barrierConfig(m *BarrierConfig) barrier.Config {
	c := barrier.Config{Max: int(m.GetMax()), Timeout: time.Duration(m.GetTimeout()), Percent: int(m.GetPercent()), MinWait: time.Duration(m.GetMinWait()),
		Late: small(f, "config.late", m.GetLate(), barrier.CatchUp), Expect: m.GetExpect(), Callback: m.GetAsk(), Double: m.GetDouble(), CallbackTimeout: time.Duration(m.GetAskGap()),
		Knee:     barrier.Knee{Percent: int(m.GetKneePercent()), Time: time.Duration(m.GetKneeTime())},
		Throttle: barrier.Throttle{Percent: int(m.GetThrottlePercent()), Count: int(m.GetThrottleCount()), Period: time.Duration(m.GetThrottlePeriod())},
		Semaphore: barrier.Semaphore{Count: int(m.GetSemaphoreCount()), Timeout: time.Duration(m.GetSemaphoreTimeout()), Adaptive: m.GetSemaphoreAdaptive(),
			Cap: int(m.GetSemaphoreCap()), Callback: m.GetSemaphoreAsk()}}
	if err := c.Validate(); err != nil {
		f.bad("barrier.config", "%w", err)
	}
	return c
}

func fromReached(m barrier.Reached) *BarrierReached {
	r := &BarrierReached{Key: fromKey(m.Key), Watch: m.Watch, Unwatch: m.Unwatch, Stamp: int64(m.Stamp)}
	r.Config = fromSomeConfig(m.Config)
	for _, q := range m.Requests {
		r.Requests = append(r.Requests, &BarrierRequest{Entry: fromEntry(q.Entry), Attempt: q.Attempt, Release: q.Release, Holds: q.Holds, Waits: q.Waits, Ago: int64(q.Ago), Leave: q.Leave})
	}
	return r
}

func (f *fields) reached(m *BarrierReached) barrier.Reached {
	r := barrier.Reached{Key: f.key(m.GetKey()), Watch: m.GetWatch(), Unwatch: m.GetUnwatch(), Stamp: time.Duration(m.GetStamp())}
	withdraws := !r.Watch && !r.Unwatch && !slices.ContainsFunc(m.GetRequests(), func(q *BarrierRequest) bool { return !q.GetRelease() })
	if m.GetConfig() != nil || !withdraws { // a participant that only withdraws may not know it
		r.Config = f.barrierConfig(m.GetConfig())
	}
	for _, q := range m.GetRequests() {
		r.Requests = append(r.Requests, barrier.Request{Entry: f.entry(q.GetEntry()), Attempt: q.GetAttempt(), Release: q.GetRelease(), Holds: q.GetHolds(), Waits: q.GetWaits(), Ago: max(0, time.Duration(q.GetAgo())), Leave: q.GetLeave()})
	}
	return r
}

func fromAnswered(a barrier.Answered) *BarrierAnswered {
	return &BarrierAnswered{Entry: fromEntry(a.Entry), Attempt: a.Attempt, Verdict: uint32(a.Verdict), Left: int64(a.Left), Old: a.Old}
}

func fromStanding(s barrier.Standing) *BarrierStanding {
	return &BarrierStanding{N: int64(s.N), Max: int64(s.Max), Absent: s.Absent, Cause: uint32(s.Cause), Holders: fromEntries(s.Holders), Inside: s.Inside}
}

func (f *fields) standing(m *BarrierStanding) barrier.Standing {
	return barrier.Standing{N: f.number("standing.n", m.GetN()), Max: f.number("standing.max", m.GetMax()), Absent: m.GetAbsent(),
		Cause: small(f, "standing.cause", m.GetCause(), barrier.ByCallback), Holders: f.entries(m.GetHolders()), Inside: m.GetInside()}
}

func fromAsked(a barrier.Asked) *BarrierAsked {
	return &BarrierAsked{Ask: a.Ask, Entry: fromEntry(a.Entry), Would: a.WouldRelease, Knee: a.Knee, Releasing: a.Releasing, Suggest: int64(a.Suggest)}
}

func (f *fields) asked(m *BarrierAsked) barrier.Asked {
	return barrier.Asked{Ask: m.GetAsk(), Entry: f.maybeEntry(m.GetEntry()), WouldRelease: m.GetWould(), Knee: m.GetKnee(), Releasing: m.GetReleasing(), Suggest: int(m.GetSuggest())}
}

func fromHappened(h barrier.Happened) *BarrierHappened {
	return &BarrierHappened{What: uint32(h.What), Entry: fromEntry(h.Entry), Cause: uint32(h.Cause), N: int64(h.N), Max: int64(h.Max), Absent: h.Absent, Lost: h.Lost,
		After: int64(h.After), Missing: int64(h.Missing)}
}

func (f *fields) happened(m *BarrierHappened) barrier.Happened {
	return barrier.Happened{What: small(f, "happened.what", m.GetWhat(), barrier.HasEmptied), Entry: f.maybeEntry(m.GetEntry()), Cause: small(f, "happened.cause", m.GetCause(), barrier.ByCallback),
		N: f.number("happened.n", m.GetN()), Max: f.number("happened.max", m.GetMax()), Absent: m.GetAbsent(), Lost: m.GetLost(), After: time.Duration(m.GetAfter()), Missing: f.number("happened.missing", m.GetMissing())}
}

func fromOp(op barrier.Op) *BarrierOp {
	return &BarrierOp{Kind: uint32(op.Kind), At: int64(op.At), Entry: fromEntry(op.Entry), Node: string(op.Node), Attempt: op.Attempt,
		Holds: op.Holds, Ask: op.Ask, Yes: op.Yes, N: int64(op.N)}
}

func (f *fields) op(m *BarrierOp) barrier.Op {
	op := barrier.Op{Kind: small(f, "op.kind", m.GetKind(), barrier.OpLeave), At: time.Duration(m.GetAt()), Entry: f.maybeEntry(m.GetEntry()),
		Node: f.maybeNode("op.node", m.GetNode()), Attempt: m.GetAttempt(), Holds: m.GetHolds(), Ask: m.GetAsk(), Yes: m.GetYes(), N: int(m.GetN())}
	if entered := op.Kind == barrier.OpEnter || op.Kind == barrier.OpRelease || op.Kind == barrier.OpLeave; entered && op.Entry.Host == "" {
		f.missing("op.entry")
	}
	return op
}

func fromBarrierState(s barrier.State) *BarrierState {
	m := &BarrierState{Now: int64(s.Now), Begun: s.Begun, Began: int64(s.Began), Units: int64(s.Units), Queue: fromEntries(s.Queue), Cause: uint32(s.Cause),
		FiredAt: int64(s.FiredAt), Fired: int64(s.Fired), Next: int64(s.Next), Watcher: string(s.Watcher), LastAsk: s.LastAsk, AskedAt: int64(s.AskedAt), Enough: s.Enough,
		Arrivals: int64(s.Detector.Arrivals), Arr: s.Detector.Arr, Arrvar: s.Detector.Arrvar, Open: s.Detector.Open,
		Level: int64(s.Adaptive.Level), Since: int64(s.Adaptive.Since), Holders: fromEntries(s.Holders), Swept: int64(s.Swept), Late: int64(s.Late), Doubt: s.Doubt, Anew: int64(s.Anew)}
	for _, r := range s.Removals {
		m.Removals = append(m.Removals, &BarrierRemoval{Node: string(r.Node), Attempt: r.Attempt, At: int64(r.At)})
	}
	for _, t := range s.Tombs {
		m.Tombs = append(m.Tombs, &BarrierTomb{Entry: fromEntry(t.Entry), Node: string(t.Node), Attempt: t.Attempt, Verdict: uint32(t.Verdict), At: int64(t.At)})
	}
	for _, d := range s.Adaptive.Took {
		m.Took = append(m.Took, int64(d))
	}
	m.Entrances = fromEntrances(s.Entrances)
	for _, a := range s.Asks {
		m.Asks = append(m.Asks, &BarrierAsking{Asked: fromAsked(a.Asked), Due: int64(a.Due)})
	}
	return m
}

// barrierState decodes a state, or a piece of one.
func (f *fields) barrierState(m *BarrierState) barrier.State {
	s := barrier.State{Now: time.Duration(m.GetNow()), Begun: m.GetBegun(), Began: time.Duration(m.GetBegan()), Units: f.number("state.units", m.GetUnits()),
		Queue: f.entries(m.GetQueue()), Cause: small(f, "state.cause", m.GetCause(), barrier.ByCallback), FiredAt: time.Duration(m.GetFiredAt()),
		Fired: f.number("state.fired", m.GetFired()), Next: time.Duration(m.GetNext()), Watcher: f.maybeNode("state.watcher", m.GetWatcher()), LastAsk: m.GetLastAsk(),
		AskedAt: time.Duration(m.GetAskedAt()), Enough: m.GetEnough(),
		Detector: barrier.Detector{Arrivals: f.number("state.arrivals", m.GetArrivals()), Arr: m.GetArr(), Arrvar: m.GetArrvar(), Open: m.GetOpen()},
		Adaptive: barrier.Adaptive{Level: f.number("state.level", m.GetLevel()), Since: f.number("state.since", m.GetSince())}, Holders: f.entries(m.GetHolders()), Swept: time.Duration(m.GetSwept()), Late: time.Duration(m.GetLate()), Doubt: m.GetDoubt(), Anew: time.Duration(m.GetAnew())}
	for _, r := range m.GetRemovals() {
		s.Removals = append(s.Removals, barrier.Removal{Node: f.node("removal.node", r.GetNode()), Attempt: r.GetAttempt(), At: time.Duration(r.GetAt())})
	}
	for _, t := range m.GetTombs() {
		s.Tombs = append(s.Tombs, barrier.Tomb{Entry: f.entry(t.GetEntry()), Node: f.node("tomb.node", t.GetNode()), Attempt: t.GetAttempt(),
			Verdict: small(f, "tomb.verdict", t.GetVerdict(), barrier.Outside), At: time.Duration(t.GetAt())})
	}
	for _, d := range m.GetTook() {
		s.Adaptive.Took = append(s.Adaptive.Took, time.Duration(d))
	}
	s.Entrances = f.entrances(m.GetEntrances())
	for _, a := range m.GetAsks() {
		s.Asks = append(s.Asks, barrier.Asking{Asked: f.asked(a.GetAsked()), Due: time.Duration(a.GetDue())})
	}
	return s
}

// BarriersSeenToProto returns a member's report as a message.
func BarriersSeenToProto(all []barrier.Seen) *BarrierLooked {
	m := &BarrierLooked{}
	for _, s := range all {
		x := &BarrierSeen{Key: fromKey(s.Key), Config: fromBarrierConfig(s.Config), Managers: fromStrings(s.Managers), Standing: fromStanding(s.Standing),
			Entrances: fromEntrances(s.Entrances), More: int64(s.More), Since: int64(s.Since), Knee: int64(s.Knee), Level: int64(s.Level), Holding: int64(s.Holding), Watcher: string(s.Watcher)}
		m.Seen = append(m.Seen, x)
	}
	return m
}

// BarriersSeenFromProto is the inverse of BarriersSeenToProto.
func BarriersSeenFromProto(m *BarrierLooked) ([]barrier.Seen, error) {
	f := &fields{}
	var all []barrier.Seen
	for _, x := range m.GetSeen() {
		all = append(all, barrier.Seen{Key: f.key(x.GetKey()), Config: f.barrierConfig(x.GetConfig()), Managers: f.nodes("seen.managers", x.GetManagers()),
			Standing: f.standing(x.GetStanding()), Entrances: f.entrances(x.GetEntrances()), More: f.number("seen.more", x.GetMore()),
			Since: time.Duration(x.GetSince()), Knee: time.Duration(x.GetKnee()), Level: f.number("seen.level", x.GetLevel()), Holding: f.number("seen.holding", x.GetHolding()), Watcher: f.maybeNode("seen.watcher", x.GetWatcher())})
	}
	return all, f.err
}

func fromEntrances(all []barrier.Entrance) []*BarrierEntrance {
	var out []*BarrierEntrance
	for _, e := range all {
		out = append(out, &BarrierEntrance{Entry: fromEntry(e.Entry), Nodes: fromStrings(e.Nodes), Tries: e.Tries, Attempt: e.Attempt, Phase: uint32(e.Phase), Late: e.Late, Passed: e.Passed, Since: int64(e.Since), Leaving: e.Leaving})
	}
	return out
}

func (f *fields) entrances(all []*BarrierEntrance) []barrier.Entrance {
	var out []barrier.Entrance
	for _, e := range all {
		if len(e.GetTries()) != len(e.GetNodes()) {
			f.bad("entrance.tries", "%d attempts of %d nodes", len(e.GetTries()), len(e.GetNodes()))
		}
		out = append(out, barrier.Entrance{Entry: f.entry(e.GetEntry()), Nodes: f.nodes("entrance.nodes", e.GetNodes()), Tries: e.GetTries(), Attempt: e.GetAttempt(),
			Phase: small(f, "entrance.phase", e.GetPhase(), barrier.Withdrawn), Late: e.GetLate(), Passed: e.GetPassed(), Since: time.Duration(e.GetSince()), Leaving: e.GetLeaving()})
	}
	return out
}
