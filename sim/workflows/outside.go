package workflows

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/messages"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// outside is what outsiders see of the runs.
type outside struct {
	s      *service
	runs   map[core.UID]*seen
	values map[[16]byte]uint64 // of outputs, by their digests
	same   map[string]string   // graphs that deterministic tasks have returned, by run, task and inputs
}

// seen is what outsiders see of a run.
type seen struct {
	journal map[int][]effect     // by task: the effects that stand
	answers map[int]effect       // of tasks whose effect nothing takes back
	fences  map[int]core.Attempt // up to which attempts an effect is refused
	grew    map[attemptOf]grew   // what attempts have returned instead of an output
	madeOf  map[uint64][]uint64  // by answer: the inputs of which an attempt has made it
}

type effect struct {
	attempt core.Attempt
	inputs  []uint64
	answer  uint64
}

// Values of what has no output of its own.
const (
	ofError = 7
	ofSleep = 0
)

func newOutside(s *service) *outside {
	return &outside{s, map[core.UID]*seen{}, map[[16]byte]uint64{}, map[string]string{}}
}

func (o *outside) run(u core.UID) *seen {
	if o.runs[u] == nil {
		o.runs[u] = &seen{journal: map[int][]effect{}, answers: map[int]effect{}, fences: map[int]core.Attempt{}, grew: map[attemptOf]grew{}, madeOf: map[uint64][]uint64{}}
	}
	return o.runs[u]
}

// valueOf returns the value of an output.
func valueOf(o core.Output) (uint64, error) {
	switch {
	case o.Error != "":
		return ofError, nil
	case o.Size == 0:
		return ofSleep, nil
	case int64(len(o.Bytes)) != o.Size:
		return 0, fmt.Errorf("an output has %d of %d bytes", len(o.Bytes), o.Size)
	}
	b, _, err := opened(o)
	if err == nil && len(b) < 8 {
		err = fmt.Errorf("an output has %d bytes", len(b))
	}
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(b), nil
}

// maxInline is the largest output, in bytes, that goes with records. Larger ones become objects.
const maxInline = 500

// outputOf returns an output with a value, and its bytes.
func outputOf(answer uint64, refs []flow.Ref) (core.Output, []byte) {
	b := make([]byte, []int{8, 8, 100, 400, 600, 700}[answer%6])
	binary.BigEndian.PutUint64(b, answer)
	if len(refs) > 0 {
		return bundleOf(b, refs)
	}
	o := core.Output{Size: int64(len(b)), Digest: durable.DigestOf(b)}
	if len(b) <= maxInline {
		o.Recorded, o.Bytes = true, b
	}
	return o, b
}

// attempt has an attempt fail, before its effect or after it, or end well.
func (o *outside) attempt(a *attempt) (ev core.AttemptEnded, answer uint64) {
	s, order := o.s, a.order
	job := order.Of.(*messages.Job)
	get := func(l core.Located) uint64 {
		if id := flow.InputID(order.ID.Run, l); id != "" {
			l.Output.Bytes = a.bytes[id]
		}
		v, err := valueOf(l.Output)
		if err != nil {
			s.Fail("an input of %+v: %v", order.ID, err)
		}
		return v
	}
	var inputs []uint64
	for _, in := range job.Args {
		if in.OfTask() {
			inputs = append(inputs, get(order.Inputs[in.N]))
		} else {
			inputs = append(inputs, constantValue(job.Constants[in.N]))
		}
	}
	a.values = inputs
	own := uint64(0)
	if order.Output != nil {
		own = get(*order.Output)
	}
	k := 9
	if !s.calm {
		k = s.R.IntN(20)
	}
	if k == 0 {
		s.Met("workflow: attempt fails before its effect")
		ev.Failed = "an error before its effect"
		return ev, 0
	}
	var fenced bool
	answer, fenced = o.act(a, job, inputs, own)
	switch {
	case fenced:
		ev.Failed = "fenced"
	case k == 1:
		s.Met("workflow: attempt fails after its effect")
		ev.Failed, ev.Final = "an error after its effect", order.Kind == core.Do && s.R.IntN(4) == 0
	default:
		ev.Output.Recorded = true // it has one
	}
	return ev, answer
}

// act has outsiders see what an attempt does. It returns the answer, or that they refuse it.
func (o *outside) act(a *attempt, job *messages.Job, inputs []uint64, own uint64) (answer uint64, fenced bool) {
	s, order, v := o.s, a.order, a.order.ID.Task
	run, u := o.run(order.ID.Run), order.ID.Run
	if job.Call.Effect != core.None && order.Kind == core.Do && !s.check.begun[attemptOf{u, v, order.Gen, order.ID.Attempt}] {
		s.Fail("(9) task %d of %s has an effect before its record is durable", v, u)
	}
	s.acts(order, job.Call)
	s.reduces(order, job)
	answer = hash(v, job.Call.Deterministic, order.Made, inputs)
	run.madeOf[answer] = inputs
	s.Tracef("%s: outsiders see %+v of kind %d, inputs %x, answer %x", a.h.p.Name(), order.ID, order.Kind, inputs, answer)
	switch {
	case order.Kind == core.TakeBack:
		s.Met("workflow: undo")
		if run.fences[v].Less(order.Fence) {
			run.fences[v] = order.Fence
		}
		run.journal[v] = slices.DeleteFunc(run.journal[v], func(e effect) bool {
			if order.Fence.Less(e.attempt) {
				return false
			}
			if !slices.Equal(e.inputs, inputs) {
				s.Fail("(5) the undo of %d of %s gets %x, and the task had %x", v, u, inputs, e.inputs)
			}
			return true
		})
	case order.Kind == core.MakeUp:
		s.Met("workflow: compensation")
		for _, e := range run.journal[v] {
			if !slices.Equal(e.inputs, inputs) || own != e.answer {
				s.Fail("(5) the compensation of %d of %s gets %x and %x, and the task had %x and %x", v, u, inputs, own, e.inputs, e.answer)
			}
		}
		run.journal[v] = nil
	case job.Call.Effect == core.Idempotent:
		if old, ok := run.answers[v]; ok {
			if !slices.Equal(old.inputs, inputs) {
				s.Fail("(6) %d of %s runs again with other inputs", v, u)
			}
			s.Met("workflow: repeat under the same key")
			return old.answer, false
		}
		run.answers[v] = effect{order.ID.Attempt, inputs, answer}
		run.journal[v] = []effect{run.answers[v]}
	case job.Call.Effect == core.Undo && order.Kind == core.Do:
		if !run.fences[v].Less(order.ID.Attempt) {
			s.Met("workflow: straggler is fenced")
			return 0, true
		}
		run.journal[v] = append(run.journal[v], effect{order.ID.Attempt, inputs, answer})
	}
	return answer, false
}

// hash is the function of all tasks.
func hash(v int, deterministic bool, made core.Attempt, inputs []uint64) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, v, inputs)
	if !deterministic {
		fmt.Fprint(h, made)
	}
	return h.Sum64()
}
