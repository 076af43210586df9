package workflows

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/messages"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// bundleOf returns an output that names objects, and its bytes.
func bundleOf(b []byte, refs []flow.Ref) (core.Output, []byte) {
	form, err := messages.MarshalBundle(b, refs)
	if err != nil {
		panic(err) // they are few
	}
	o := core.Output{Size: int64(len(form)), Digest: durable.DigestOf(form), Refs: uint32(len(refs))}
	for _, r := range refs {
		o.Weight += r.Meta.Size
	}
	return o, form
}

// opened returns what an output has, and which objects it names.
func opened(o core.Output) ([]byte, []flow.Ref, error) {
	if o.Refs == 0 {
		return o.Bytes, nil, nil
	}
	return messages.UnmarshalBundle(o.Bytes)
}

// namesOf returns the ids of those objects that are the run's.
func namesOf(run string, refs []flow.Ref) (all []string) {
	for _, r := range refs {
		if strings.HasPrefix(string(r.Object), "wf/"+run+"/") {
			all = append(all, string(r.Object))
		}
	}
	return all
}

// mostPassed bounds the objects of inputs that an output names.
const mostPassed = 3

// passed returns which objects of its inputs an attempt passes on.
func (a *attempt) passed(answer uint64) []flow.Ref {
	if answer%3 > 0 {
		return nil
	}
	return a.refs[:min(len(a.refs), mostPassed)]
}

// putNamed makes the objects that an output names, and returns these with those that it passes on.
func (a *attempt) putNamed(answer uint64) (all []flow.Ref, err error) {
	h, o := a.h, a.order
	job := o.Of.(*messages.Job)
	for i := range answer >> 8 % 3 {
		b := binary.BigEndian.AppendUint64(nil, answer+i)
		id := flow.NamedID(o.ID.Run.String(), fmt.Sprint(o.ID.Task), o.Gen, o.Made, job.Call.Deterministic, durable.DigestOf(b), fmt.Sprint("part", i))
		h.has.Object(o.ID.Run.String(), id, job.Result)
		if err := h.store.put(h, id, b); err != nil {
			return nil, err
		}
		h.Met("workflow: output names an object")
		all = append(all, flow.Ref{Object: id, Meta: phalanx.Meta{Size: int64(len(b))}, Digest: durable.DigestOf(b)})
	}
	for _, r := range a.passed(answer) {
		h.Met("workflow: output names an object of another task")
		all = append(all, r)
	}
	return all, nil
}

// open notes which objects the inputs name.
func (a *attempt) open() {
	o := a.order
	a.named, a.got = flow.NewSources(o.ID.Run), map[phalanx.ObjectID]bool{}
	for _, l := range slices.Concat(o.Inputs, own(o)) {
		if l.Output.Refs == 0 {
			continue
		}
		l.Output.Bytes = a.bytes[flow.InputID(o.ID.Run, l)]
		_, refs, err := opened(l.Output)
		if err != nil {
			a.h.Fail("an input of %+v: %v", o.ID, err)
		}
		a.named.Add(l, refs)
		a.refs = append(a.refs, refs...)
	}
	slices.SortFunc(a.refs, func(x, y flow.Ref) int { return strings.Compare(string(x.Object), string(y.Object)) })
	a.refs = slices.CompactFunc(a.refs, func(x, y flow.Ref) bool { return x.Object == y.Object })
}

// readSome has the task read some of the objects that its inputs name.
func (a *attempt) readSome(then func()) {
	var left []flow.Ref
	for _, r := range a.refs {
		if a.h.R.IntN(2) == 0 {
			left = append(left, r)
		}
	}
	a.get(left, func(r flow.Ref, then func(gone bool)) {
		a.h.has.Object(a.order.ID.Run.String(), r.Object, false)
		a.h.get(r.Object, func(b []byte, gone bool) {
			if !gone && durable.DigestOf(b) != r.Digest {
				a.h.Fail("(7) the object %s, which an input of %+v names, has other bytes", r.Object, a.order.ID)
			}
			a.got[r.Object] = a.got[r.Object] || !gone
			then(gone)
		})
	}, then)
}

// pass looks whether the objects are there that the output passes on.
func (a *attempt) pass(ev core.AttemptEnded, answer uint64, then func()) {
	if ev.Failed != "" || !a.makesOutput() || a.order.Of.(*messages.Job).Call.Expands { // a task of the graph looks
		then()
		return
	}
	left := slices.DeleteFunc(slices.Clone(a.passed(answer)), func(r flow.Ref) bool { return a.got[r.Object] })
	a.get(left, func(r flow.Ref, then func(gone bool)) {
		a.h.later(a.h.Upto(5*ms), func() { then(len(a.h.store.holders(r.Object)) == 0) })
	}, then)
}

// canceled ends an attempt that was cancelled before it waits for a disk, which may be away for long.
func (a *attempt) canceled() bool {
	if a.stops {
		a.end(core.AttemptEnded{Failed: "canceled"})
	}
	return a.stops
}

// get reads objects. One that is gone is put again of a checkpoint of an input that names it; without one the inputs are not
// whole.
func (a *attempt) get(left []flow.Ref, read func(flow.Ref, func(gone bool)), then func()) {
	if a.over() {
		return
	}
	if len(left) == 0 {
		then()
		return
	}
	r := left[0]
	next := func() { a.get(left[1:], read, then) }
	lacks := func() {
		n, _ := a.named.Naming(r.Object)
		a.missing = append(a.missing, n.In...)
		next()
	}
	read(r, func(gone bool) {
		n, named := a.named.Naming(r.Object)
		switch {
		case !gone:
			next()
			return
		case !named:
			lacks()
			return
		}
		if a.canceled() {
			return
		}
		a.wished = a.h.wish(n.Wish, func(g flow.Granted) {
			if a.over() {
				return
			}
			if g.Gone {
				a.unsaved = append(a.unsaved, n.Saved...)
			}
			if g.Err != nil {
				lacks()
				return
			}
			a.h.Met("workflow: object that an input names put again")
			read(r, func(gone bool) {
				if gone {
					lacks()
					return
				}
				next()
			})
		})
	})
}

// refsOf returns which objects an output names.
func (h *host) refsOf(e core.SaveBlob, then func(refs []flow.Ref, gone bool)) {
	if e.Output.Refs == 0 {
		then(nil, false)
		return
	}
	h.get(flow.OutputID(e.Blob, e.Deterministic), func(b []byte, gone bool) {
		if gone {
			then(nil, true)
			return
		}
		o := e.Output
		o.Bytes = b
		_, refs, err := opened(o)
		if err != nil {
			h.Fail("the output of %+v: %v", e.Blob, err)
		}
		then(refs, false)
	})
}
