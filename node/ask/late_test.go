package ask

import (
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// cancels returns which requests the messages to a node end.
func cancels(out []Effect, to phalanx.NodeID) (nums []uint64) {
	for _, e := range out {
		if s, ok := e.(Send); ok && s.To == to {
			if c, ok := s.What.(directory.Request).Body.(directory.Cancel); ok {
				nums = append(nums, c.Num)
			}
		}
	}
	return nums
}

// A watch does not hear news for an earlier instance of the node, or about another object, though
// they have its number. The node has their owner end that watch.
func TestReadinessThatIsNotForAWatch(t *testing.T) {
	for name, told := range map[string]directory.Readiness{
		"an earlier instance": {To: "me#1", Object: "x"},
		"another object":      {To: "me", Object: "y"},
	} {
		a := newAsking(t)
		a.step(Ask{Num: 1, Object: "x", Body: directory.Watch{}, By: "watcher"})
		told.Num, told.Version = 1, 1<<32|1
		if out := a.step(Told{"b", told}); len(out) != 1 || len(cancels(out, "b")) != 1 {
			t.Errorf("%s: %v", name, out)
		}
		for _, e := range a.pass(40 * ms) {
			t.Errorf("%s: %v", name, e)
		}
	}
}

// An owner that has lost and got its shard again counts as new: the node asks it again as soon,
// and gives it as long to answer.
func TestAnOwnerOfANewEpochIsNew(t *testing.T) {
	a := newAsking(t)
	a.step(Ask{Num: 1, Object: "x", Body: directory.Stat{}})
	a.step(Impatient{Num: 1, By: "impatient"})
	a.pass(silentAfter - ms)
	a.want(a.step(Learn{owned(2, "a")}), n(1))
	a.want(a.pass(repeatAfter), n(1))
	for _, e := range a.pass(silentAfter - repeatAfter) {
		if s, ok := e.(Silent); ok {
			t.Errorf("at %v: %v", a.now, s)
		}
	}
}

// A node acknowledges to the owner that has told its watch last.
func TestAnAcknowledgementGoesToTheNewOwner(t *testing.T) {
	a := newAsking(t)
	a.step(Ask{Num: 1, Object: "x", Body: directory.Watch{}, By: "watcher"})
	told := func(epoch uint64) directory.Readiness {
		return directory.Readiness{To: "me", Num: 1, Object: "x", Version: epoch<<32 | 1}
	}
	a.step(Told{"a", told(1)})
	a.step(Learn{owned(2, "b")})
	a.step(Told{"b", told(2)})
	out := a.pass(calm)
	if len(out) != 1 || out[0].(Send).To != "b" || out[0].(Send).What != (directory.WatchAcked{From: "me", Num: 1, Object: "x", Version: 2<<32 | 1}) {
		t.Errorf("%+v", out)
	}
}

// Requests forgets nodes that have left.
func TestWhoHasLeftIsForgotten(t *testing.T) {
	a := newAsking(t)
	a.step(Told{"b", directory.Readiness{To: "me", Num: 1, Object: "x"}})
	v := owned(2, "a")
	v.Members = v.Members[:2]
	if a.step(Learn{v}); len(a.c.spoke) != 0 {
		t.Errorf("%v", a.c.spoke)
	}
}

// Requests that are too many for one tick go out grain after grain, in the order of their
// numbers, however often the host looks.
func TestWhatIsDueAtOnceIsSpread(t *testing.T) {
	a := newAsking(t)
	for num := range uint64(3 * atOnce) {
		a.step(Ask{Num: num + 1, Object: "x", Body: directory.Stat{}})
	}
	for i := range 3 {
		at, ok := a.c.Due()
		if want := repeatAfter + time.Duration(i)*grain; !ok || at != want {
			t.Fatalf("due at %v, want %v", at, want)
		}
		a.now = at
		out := a.step(Tick{})
		if len(out) != atOnce || out[0].(Send).What.(directory.Request).Num != uint64(i*atOnce+1) {
			t.Fatalf("at %v: %d are sent", a.now, len(out))
		}
	}
	if at, _ := a.c.Due(); at <= a.now+grain {
		t.Errorf("due at %v, at %v", at, a.now)
	}
}
