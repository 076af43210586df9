package workflow

import (
	"testing"
	"time"
)

// single starts the run of a graph of one task without effect, and ends its attempt.
func single(t *testing.T) (*Run, []RunEffect) {
	t.Helper()
	e, err := Check(parse(t, "a"))
	if err != nil {
		t.Fatal(err)
	}
	r := NewRun(RunConfig{Epoch: 1}, e, nil)
	var d Dispatch
	for _, e := range r.Step(0, Tick{}) {
		if e, ok := e.(Dispatch); ok {
			d = e
		}
	}
	return r, r.Step(0, Outcome{Task: 0, Attempt: d.Attempt})
}

func find[E RunEffect](t *testing.T, all []RunEffect) (found E) {
	t.Helper()
	for _, e := range all {
		if e, ok := e.(E); ok {
			return e
		}
	}
	t.Fatalf("%+v has no %T", all, found)
	return found
}

// A run is closed once that is durable, not before.
func TestClosedIsDurable(t *testing.T) {
	r, did := single(t)
	s := find[Save](t, did)
	a := find[Append](t, r.Step(0, Checkpointed{Task: 0, Gen: s.Gen, Made: s.Made}))
	if r.Closed() {
		t.Error("it is closed before the record is durable")
	}
	if r.Step(0, Durable{a.Number}); !r.Closed() {
		t.Error("it is not closed")
	}
}

// A checkpoint that fails is made again after a pause, which grows.
func TestACheckpointIsMadeAgain(t *testing.T) {
	r, did := single(t)
	now := time.Duration(0)
	for _, pause := range []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond} {
		s := find[Save](t, did)
		f := find[Failed](t, r.Step(now, Checkpointed{Task: 0, Gen: s.Gen, Made: s.Made, Failed: "the disk is full"}))
		if at, ok := r.Due(); !ok || at != now+pause || f.Again != at || f.Why != "its checkpoint: the disk is full" {
			t.Fatalf("%+v, and again at %v, %v; want %v", f, at, ok, now+pause)
		}
		if did := r.Step(now+pause-1, Tick{}); len(did) > 0 {
			t.Fatalf("it does %+v before its time", did)
		}
		now += pause
		did = r.Step(now, Tick{})
	}
}
