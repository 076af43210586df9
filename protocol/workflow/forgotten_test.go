package workflow

import (
	"fmt"
	"runtime"
	"testing"
)

// keeping is a benched controller whose rows can be read.
type keeping struct {
	*benched
	kept map[string]RowValue
}

func (h *keeping) do(ev ControlEvent) {
	todo := []ControlEvent{ev}
	for len(todo) > 0 {
		ev := todo[0]
		todo = todo[1:]
		for _, e := range h.c.Step(0, ev) {
			switch e := e.(type) {
			case Write:
				for _, r := range e.Rows {
					if r.Value == nil {
						delete(h.kept, r.Key)
					} else if _, name := r.Value.(Name); name {
						h.kept[r.Key] = r.Value
					}
				}
				todo = append(todo, Durable{e.Number})
			case Read:
				f := Found{Number: e.Number}
				if v, is := h.kept[e.Key]; is {
					f.Rows = []Row{{Key: e.Key, Value: v}}
				}
				todo = append(todo, f)
			case Confirm:
				todo = append(todo, Confirmed(e))
			case Send:
				h.send(e)
				todo = append(todo, h.todo...)
				h.todo = nil
			case Publish:
				if _, is := e.News.(RunClosed); is {
					h.closed++
				}
			}
		}
	}
}

// After 10,000 runs that were forgotten a controller has no more memory than after 1,000, within 10 %: nothing is kept of
// them.
func TestForgottenRunsLeaveNothing(t *testing.T) {
	h := &keeping{newBenched(3), map[string]RowValue{}}
	work := chains(2, Idempotent)
	caller := Caller(0)
	runs := func(from, to int) {
		for i := from; i < to; i++ {
			id := fmt.Sprint("run ", i)
			own := *work
			h.do(Called{Caller: caller + 1, Call: StartRun{ID: id, Work: &own}})
			h.do(Called{Caller: caller + 2, Call: AwaitResult{ID: id}})
			h.do(Called{Caller: caller + 3, Call: ForgetRun{ID: id}})
			caller += 3
			delete(h.kept, idKey(id)) // the host's rows are not the controller's
		}
	}
	runs(0, 1_000)
	before := inUse()
	runs(1_000, 11_000)
	after := inUse()
	t.Logf("%d bytes after 1,000 runs that were forgotten, and %d after 11,000", before, after)
	c := h.c
	if h.closed != 11_000 {
		t.Fatalf("%d runs have ended", h.closed)
	}
	if n := len(c.runs) + len(c.ids) + len(c.locked) + len(c.reads) + len(c.looking) + len(c.calls) + len(c.watchers) + len(c.strays) + len(c.saves) + len(c.unacked) + len(c.written); n > 0 {
		t.Errorf("%d things are left of runs", n)
	}
	if after > before+before/10 {
		t.Error("it grows")
	}
	runtime.KeepAlive(h)
}
