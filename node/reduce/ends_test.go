package reduce

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/protocol/directory"
	core "github.com/phalanx-go/phalanx/protocol/reduce"
)

// The Run watches a target again that it begins again, and forgets each watch at the end.
func TestAllWatchesOfTheTargetAreForgotten(t *testing.T) {
	b := newBed(t)
	b.planted()
	b.step(Failed{})
	b.next()
	b.reply(begin, directory.Result{State: directory.Begun, Gen: gen(5)})
	opened := map[uint64]bool{}
	note := func(all []Effect) {
		for _, e := range all {
			switch e := e.(type) {
			case Watch:
				opened[e.Num] = true
			case Forget:
				delete(opened, e.Num)
			}
		}
	}
	note(b.pass(time.Second))
	note(b.step(Made{Gen: gen(5), Meta: large}))
	note(b.reply(begin, directory.Result{State: directory.Begun, Gen: gen(5)}))
	note(b.pass(time.Second))
	note(b.step(Stopped{}))
	if len(opened) > 0 {
		t.Errorf("the Run never forgets the watches %v", opened)
	}
}

// A place has ended for orders when its coordinator hears so.
func TestAPlaceHasGoneWhenItsCoordinatorHearsSo(t *testing.T) {
	s := newSeat(t)
	s.command("c", nil)
	gone := false
	for _, e := range s.p.Step(s.now, Ordered{"c", core.Stopping{Place: 1, Attempt: 1, Gen: label}}) {
		switch e := e.(type) {
		case Gone:
			gone = true
		case Tell:
			if _, ok := e.Event.(core.Stopped); ok && !gone {
				t.Error("the coordinator hears Stopped while orders still go to the place")
			}
		}
	}
}
