package workflow

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

func (w *world) ask() {
	ids := slices.Sorted(maps.Keys(w.runs))
	k := w.runs[ids[w.r.IntN(len(ids))]]
	var call Call = StartRun{ID: k.id, Key: k.id, Work: k.work}
	if !k.uid.IsZero() || w.r.IntN(10) == 0 {
		call = AwaitResult{k.id}
	}
	if !w.calm {
		switch w.r.IntN(60) {
		case 0:
			call = CancelRun{k.id, "somebody wants it"}
		case 1:
			call = GetStatus{ID: k.id}
		case 2:
			call = ListRuns{Prefix: "run/"}
		case 3:
			call = AttachRun{k.id}
		case 4:
			call = StartRun{ID: k.id, Work: workOf(&Graph{Tasks: append(slices.Clone(k.g.Tasks), Task{Effect: None})}, 0)}
		case 5:
			if w.r.IntN(4) == 0 {
				call = ForgetRun{k.id}
			}
		}
	}
	if w.r.IntN(20) == 0 && !k.uid.IsZero() || w.calm && w.r.IntN(3) == 0 {
		call = ResumeRun{ID: k.id}
	}
	if names := []string{"a", "b", "c"}; w.r.IntN(20) == 0 || w.calm && w.r.IntN(3) == 0 {
		key := fmt.Sprintf("%8d", w.r.IntN(3))
		call = SignalRun{ID: k.id, Name: names[w.r.IntN(3)], Key: key, Bytes: []byte(key)}
	}
	for caller, q := range w.calling { // the host of their controller has died
		if !slices.ContainsFunc(w.tenures, func(t *tenure) bool { return t.name == q.to }) {
			delete(w.calling, caller)
		}
	}
	if len(w.calling) > 20 {
		return
	}
	t := w.tenures[w.r.IntN(len(w.tenures))]
	w.caller++
	w.calling[w.caller] = asked{call, k, t.name}
	w.control(t, Called{Caller: w.caller, Call: call, Patience: time.Duration(w.r.IntN(5000)) * time.Millisecond})
	if w.r.IntN(20) == 0 {
		delete(w.calling, w.caller)
		w.control(t, Withdrawn{w.caller})
	}
}

func (w *world) answered(t *tenure, a Answer) {
	q, is := w.calling[a.Caller]
	if !is {
		return
	}
	delete(w.calling, a.Caller)
	k := q.run
	if errorKind(a.Err) == phalanx.ErrDeleted {
		k.done = true
	}
	if a.Err != nil {
		w.met["answer "+fmt.Sprintf("%T", q.call)[9:]+" "+errorKind(a.Err).Error()]++
	}
	mine := func() {
		if k.uid.IsZero() {
			k.uid = a.Run
		}
		if k.uid != a.Run {
			w.fail("(11) %s is run %s, and was %s", k.id, a.Run, k.uid)
		}
	}
	durable := func() {
		n, _ := w.rows[idKey(k.id)].(Name)
		if n.Run != a.Run {
			w.fail("(2) %s is answered as run %s, and %+v is durable", k.id, a.Run, n)
		}
	}
	switch call := q.call.(type) {
	case StartRun:
		other := call.Work != k.work
		if other && a.Err == nil && (k.uid.IsZero() || len(k.work.Calls) != len(call.Work.Calls)) {
			durable()
			if o := w.outside[a.Run]; len(o.g.Tasks) != len(call.Work.Calls) {
				w.fail("(11) another workflow has attached to %s", k.id)
			}
			k.g, k.work = call.Work.Graph, call.Work // this one was first
		}
		if a.Err == nil {
			durable()
			mine()
		} else if errorKind(a.Err) == phalanx.ErrMismatch && !other && k.uid.IsZero() {
			for _, o := range w.outside { // the other one was first
				if o.id == k.id && o.durable {
					k.g, k.work = o.g, workOf(o.g, 0)
				}
			}
		}
	case AttachRun:
		if a.Err == nil {
			durable()
			mine()
		}
	case AwaitResult:
		if a.Err != nil {
			break
		}
		mine()
		if n, _ := w.rows[idKey(k.id)].(Name); n.State != Finished && n.State != Forgotten {
			w.fail("(2) the result of %s is answered before it is durable", k.id)
		}
		text := fmt.Sprintf("%q", a.Result.Failed)
		for _, l := range a.Result.Outputs {
			text += fmt.Sprintf(" %x", l.Output.Digest)
		}
		if old, is := w.results[a.Run]; is && old != text {
			w.fail("(4) the result of %s was %s and is %s", k.id, old, text)
		}
		w.results[a.Run] = text
		k.done = true
	case SignalRun:
		s := signalOf{a.Run, call.Name}
		if a.Err != nil {
			s.run = k.uid
		}
		id, is := w.taken[s]
		if kind := errorKind(a.Err); kind == phalanx.ErrExists && is && id == call.Key || a.Err == nil && is && id != call.Key {
			w.fail("(2) the signal %s %s of %s counts, and %s is answered %v", s.name, id, k.id, call.Key, a.Err)
		}
		if a.Err == nil {
			w.taken[s] = call.Key
			w.met["signal"]++
		}
	case CancelRun:
		if a.Err == nil {
			n := w.rows[idKey(k.id)].(Name)
			k.aborted = true
			if n.State == Finished && n.Why == "" {
				w.fail("(2) the cancel of %s is answered, and it has ended well", k.id)
			}
		}
	}
}

func errorKind(err error) phalanx.Kind {
	var e *phalanx.Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return 0
}
