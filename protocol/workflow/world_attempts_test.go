package workflow

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
)

// recorded returns an output whose bytes came with the order.
func (w *world) recorded(l Located) uint64 {
	if l.Output.Error != "" {
		return 7
	}
	if l.Output.Size == 0 { // it slept
		return 0
	}
	if len(l.Output.Bytes) < 8 {
		w.fail("the bytes of %+v are not here", l)
	}
	return binary.BigEndian.Uint64(l.Output.Bytes)
}

// inputs returns the inputs of an attempt, and its own output for a compensation; wait: they may come yet;
// missing are those that nobody has.
func (w *world) inputs(n *machine, o Order) (all []uint64, own uint64, wait bool, missing []Blob) {
	get := func(l Located) uint64 {
		if l.Output.Recorded {
			return w.recorded(l)
		}
		b := Blob{Run: o.ID.Run, Task: l.Task, Gen: l.Gen, Made: l.Made}
		unknown := false
		for _, m := range w.sorted() {
			if hash, is := m.store[b]; is && m.inView && !m.dead {
				if w.r.IntN(3) == 0 && n != m {
					n.store[b] = hash
					w.executor(n, Stored{b})
				}
				return hash
			} else if is && m.inView {
				unknown = true
			}
		}
		for _, d := range l.Disks {
			if hash, is := w.disks[d][b]; is {
				return hash
			}
		}
		if unknown {
			wait = true
		} else {
			missing = append(missing, b)
		}
		return 0
	}
	for _, l := range o.Inputs {
		all = append(all, get(l))
	}
	if o.Output != nil {
		own = get(*o.Output)
	}
	return all, own, wait, missing
}

// finish has an attempt end, well or not, before its effect or after it.
func (w *world) finish(n *machine, id AttemptID) {
	j := n.jobs[id]
	inputs, own, wait, missing := w.inputs(n, j.o)
	if wait && !j.ends {
		return
	}
	delete(n.jobs, id)
	end := AttemptEnded{ID: id}
	k := 9
	if !w.calm {
		k = w.r.IntN(12)
	}
	switch {
	case j.ends && (wait || w.r.IntN(2) == 0):
		end.Failed = "canceled"
	case len(missing) > 0:
		end.Failed, end.Missing = "an input is gone", missing
		w.met["input missing"]++
	case k == 0 || k < 7 && j.o.Kind == TakeBack && w.rough.retries < 3:
		end.Failed = "an error before its effect"
	default:
		answer, fenced := w.act(n, j.o, inputs, own)
		switch {
		case fenced:
			end.Failed = "fenced"
		case k == 1:
			end.Failed, end.Final = "an error after its effect", j.o.Kind == Do && w.r.IntN(6) == 0
		case j.o.Kind == Do && taskOf(j.o).Expands && w.expands(j.o, answer, &end):
		default:
			binary.BigEndian.PutUint64(end.Output.Digest[:], answer)
			end.Output.Size = int64(8 + w.r.IntN(2)*largeInput)
			if w.r.IntN(3) == 0 {
				end.Output.Size = int64(8 + w.r.IntN(2)*1000)
				end.Output.Recorded, end.Output.Bytes = true, make([]byte, end.Output.Size)
				binary.BigEndian.PutUint64(end.Output.Bytes, answer)
			}
			if j.o.Kind == Do || j.o.Kind == Remake {
				b := Blob{Run: id.Run, Task: id.Task, Gen: j.o.Gen, Made: j.o.Made}
				n.store[b] = answer
				if n.inView {
					w.copies[b] = true
				}
			}
		}
	}
	w.executor(n, end)
}

// taskOf returns what an attempt runs.
func taskOf(o Order) *Task { return &o.Of.(*Graph).Tasks[o.Local] }

// expands reports whether an attempt returns a workflow.
func (w *world) expands(o Order, answer uint64, end *AttemptEnded) bool {
	end.Work = w.returned(taskOf(o), o.Off, answer)
	return end.Work != nil
}

// act has outsiders see what an attempt does. It returns its answer, or that they refuse it.
func (w *world) act(n *machine, o Order, inputs []uint64, own uint64) (answer uint64, fenced bool) {
	v := o.ID.Task
	s := w.outside[o.ID.Run]
	t := taskOf(o)
	if t.Effect != None && o.Kind == Do && !w.begun[attemptOf{o.ID.Run, v, o.Gen, o.ID.Attempt}] {
		w.fail("(9) task %d of %s has an effect before its record is durable", v, o.ID.Run)
	}
	if n := len(o.Inputs) - len(t.After); t.Needs > 0 && (n < int(t.Needs) || o.Kind != Do) {
		w.fail("%d of %s has %d of the %d inputs that it needs, for an attempt of kind %d", v, o.ID.Run, n, t.Needs, o.Kind)
	} else if n < len(t.Reads) {
		w.met["some of the inputs"]++
	}
	answer = w.hash(o, t.Deterministic, inputs)
	switch {
	case o.Kind == TakeBack:
		w.met["undo"]++
		for _, m := range w.sorted() {
			for id, j := range m.jobs {
				if m.inView && id.Run == o.ID.Run && id.Task == v && j.o.Kind == Do && id.Attempt != o.ID.Attempt && !o.Fence.Less(id.Attempt) {
					w.fail("(10) task %d of %s is undone while %v of it goes on", v, o.ID.Run, id.Attempt)
				}
			}
		}
		if s.fences[v].Less(o.Fence) {
			s.fences[v] = o.Fence
		}
		s.journal[v] = slices.DeleteFunc(s.journal[v], func(e effect) bool {
			if o.Fence.Less(e.attempt) {
				return false
			}
			if !slices.Equal(e.inputs, inputs) {
				w.fail("(5) the undo of %d of %s gets %x, and the task had %x", v, o.ID.Run, inputs, e.inputs)
			}
			return true
		})
	case o.Kind == MakeUp:
		w.met["compensation"]++
		for _, e := range s.journal[v] {
			if !slices.Equal(e.inputs, inputs) || own != e.answer {
				w.fail("(5) the compensation of %d gets %x and %x, and the task had %x and %x", v, inputs, own, e.inputs, e.answer)
			}
		}
		s.journal[v] = nil
	case t.Effect == Idempotent:
		if old, ok := s.answers[v]; ok {
			if !slices.Equal(old.inputs, inputs) {
				w.fail("(6) %d of %s runs again with other inputs", v, o.ID.Run)
			}
			w.met["repeat under the same key"]++
			return old.answer, false
		}
		s.answers[v] = effect{o.ID.Attempt, inputs, answer}
		s.journal[v] = []effect{s.answers[v]}
	case t.Effect == Undo && o.Kind == Do:
		if !s.fences[v].Less(o.ID.Attempt) {
			w.met["straggler is fenced"]++
			return 0, true
		}
		s.journal[v] = append(s.journal[v], effect{o.ID.Attempt, inputs, answer})
	}
	return answer, false
}

func (w *world) hash(o Order, deterministic bool, inputs []uint64) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, o.ID.Task, inputs)
	if !deterministic {
		fmt.Fprint(h, o.Made)
	}
	return h.Sum64()
}
