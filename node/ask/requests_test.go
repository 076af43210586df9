package ask

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/view"
)

const ms = time.Millisecond

// never is the lateness of a node that is on time.
func never() time.Duration { return 0 }

// asking is a Requests and its effects so far.
type asking struct {
	t   *testing.T
	c   *Requests
	now time.Duration
	out []Effect
}

func newAsking(t *testing.T) *asking {
	nums := uint64(1000)
	a := &asking{t: t}
	a.c = NewRequests(Config{Self: "me", Nums: func() uint64 { nums++; return nums }, Late: never})
	a.step(Learn{owned(1, "a")})
	return a
}

func owned(number uint64, owner phalanx.NodeID) view.View {
	return view.View{Number: number, Members: []view.Member{{ID: "me"}, {ID: "a"}, {ID: "b"}}, Shards: []view.Shard{{Owner: owner, Epoch: number}}}
}

// step returns the effects of an event.
func (a *asking) step(ev Event) []Effect {
	out := a.c.Step(a.now, ev)
	a.out = append(a.out, out...)
	return out
}

// pass lets time pass, and returns the effects of the ticks that are due.
func (a *asking) pass(d time.Duration) (all []Effect) {
	a.t.Helper()
	end := a.now + d
	for range 1_000_000 {
		at, ok := a.c.Due()
		if !ok || at > end {
			a.now = end
			return all
		}
		a.now = max(a.now, at)
		all = append(all, a.step(Tick{})...)
	}
	a.t.Fatalf("ticks are due for ever at %v", a.now)
	return nil
}

// want compares effects; requests count by their numbers.
func (a *asking) want(got []Effect, want ...any) {
	a.t.Helper()
	var brief []any
	for _, e := range got {
		switch e := e.(type) {
		case Send:
			if r, ok := e.What.(directory.Request); ok {
				brief = append(brief, r.Num)
			} else {
				brief = append(brief, e.What)
			}
		case Answer:
			brief = append(brief, e.By)
		case Silent:
			brief = append(brief, e.By)
		default:
			brief = append(brief, e)
		}
	}
	if len(brief)+len(want) > 0 && !reflect.DeepEqual(brief, want) {
		a.t.Errorf("at %v: %v, want %v", a.now, brief, want)
	}
}

func n(num uint64) any { return num }

// The callers of reports that cannot be sent hear of it in their order, each before the node
// tries the next report.
func TestReportsThatCannotBeSentFailInTheirOrder(t *testing.T) {
	a := newAsking(t)
	drop := directory.Drop{Gen: phalanx.Generation{Epoch: 1}}
	a.want(a.step(Ask{Num: 1, Object: "x", Body: directory.Announce{}, By: "first"}), n(1))
	a.want(a.step(Ask{Num: 2, Object: "x", Body: drop, By: "second"}))
	a.want(a.step(Ask{Num: 3, Object: "x", Body: drop, By: "joins it"}))
	no := func(num uint64) Unsendable {
		return Unsendable{Num: num, Kind: phalanx.ErrInvalid, Why: errors.New("no")}
	}
	a.want(a.step(no(1)), "first")
	a.want(a.pass(10*ms), n(2))
	a.want(a.step(no(2)), "second", "joins it")
	a.want(a.step(no(2)))
	a.want(a.pass(time.Hour))
}

// A watch that cannot be sent has no answer: its impatient caller hears of it.
func TestAWatchThatCannotBeSent(t *testing.T) {
	a := newAsking(t)
	a.want(a.step(Ask{Num: 1, Object: "x", Body: directory.Watch{}, By: "watcher"}), n(1))
	a.want(a.step(Ask{Num: 2, Object: "x", Body: directory.Watch{}, By: "nobody hears"}), n(2))
	a.step(Impatient{Num: 1, By: "impatient"})
	a.want(a.step(Unsendable{Num: 1, Kind: phalanx.ErrInvalid, Why: errors.New("no")}), "impatient")
	a.want(a.step(Unsendable{Num: 2, Kind: phalanx.ErrInvalid, Why: errors.New("no")}))
	a.want(a.pass(time.Hour))
}

// Forget sends nothing itself: its caller may hold a lock. The waiting report goes with the
// next tick.
func TestForgetSendsNothingAtOnce(t *testing.T) {
	a := newAsking(t)
	a.step(Ask{Num: 1, Object: "x", Body: directory.Announce{}})
	a.step(Ask{Num: 2, Object: "x", Body: directory.Drop{}})
	a.step(Ask{Num: 3, Object: "y", Body: directory.Watch{}})
	a.want(a.step(Forget{1}))
	a.want(a.step(Forget{3}))
	a.want(a.pass(20*ms), n(2), n(1001))
}

// A node gives up a Cancel and a report that no owner answers; it repeats a Locate for ever.
func TestWhatIsGivenUp(t *testing.T) {
	a := newAsking(t)
	a.step(Ask{Num: 1, Object: "x", Body: directory.Locate{Wait: true}, By: "locate"})
	a.step(Ask{Num: 2, Object: "y", Body: directory.Locate{Wait: true}})
	a.step(Forget{2})
	a.step(Ask{Num: 3, Object: "y", Body: directory.Cancel{Num: 2}})
	a.step(Ask{Num: 4, Object: "z", Body: directory.Drop{}, By: "drop"})
	a.pass(giveUpAfter - time.Second)
	a.out = nil
	a.pass(10 * time.Second)
	for _, e := range a.out {
		if s, ok := e.(Answer); ok && (s.By != "drop" || s.Result.Kind != phalanx.ErrUnavailable) {
			t.Errorf("%v", e)
		}
	}
	a.out = nil
	a.pass(10 * time.Second)
	for _, e := range a.out {
		if s, ok := e.(Send); !ok || s.What.(directory.Request).Num != 1 {
			t.Errorf("the node goes on with %v", e)
		}
	}
	if len(a.out) == 0 {
		t.Error("the node gives up a Locate")
	}
	if at, ok := a.c.Due(); !ok || at > a.now+repeatMax {
		t.Errorf("due at %v", at)
	}
}

// A Begin may have bound the id: the node withdraws it when it gives up.
func TestABeginThatIsGivenUpIsWithdrawn(t *testing.T) {
	a := newAsking(t)
	a.step(Ask{Num: 1, Object: "x", Body: directory.Begin{}, By: "begin"})
	a.pass(giveUpAfter)
	a.out = nil
	a.pass(100 * ms)
	if len(a.out) < 2 {
		t.Fatalf("%v", a.out)
	}
	a.want(a.out[:2], "begin", n(1001))
	if r := a.out[1].(Send).What.(directory.Request); r.Body != (directory.Cancel{Num: 1}) {
		t.Errorf("%v", r)
	}
}

// All callers of a report that is given up hear of it, also callers that have joined, and
// after the node has sent the next messages.
func TestWhoHearsThatAReportIsGivenUp(t *testing.T) {
	a := newAsking(t)
	a.step(Ask{Num: 1, Object: "x", Body: directory.Announce{}, By: "first"})
	a.step(Ask{Num: 2, Object: "x", Body: directory.Drop{}, By: "second"})
	a.step(Ask{Num: 3, Object: "x", Body: directory.Drop{}, By: "joins it"})
	a.pass(giveUpAfter)
	a.out = nil
	a.pass(ms)
	a.want(a.out, n(2), "first")
	a.pass(giveUpAfter - 10*ms)
	a.out = nil
	a.pass(20 * ms)
	a.want(a.out, "second", "joins it")
	if _, ok := a.c.Due(); ok {
		t.Error("something is due though nothing is open")
	}
}

// A tick handles at most atOnce requests, and the next one comes no sooner than a grain later:
// also where all are due at once, and after a new view.
func TestAnOwnerIsNotFlooded(t *testing.T) {
	a := newAsking(t)
	for num := range uint64(3 * atOnce) {
		a.step(Ask{Num: num + 1, Object: "x", Body: directory.Stat{}})
	}
	a.now = repeatAfter
	for want := range 3 {
		at, ok := a.c.Due()
		if out := a.step(Tick{}); !ok || at > a.now || len(out) != atOnce || out[0].(Send).What.(directory.Request).Num != uint64(want*atOnce+1) {
			t.Fatalf("at %v, due at %v: the node sends %d", a.now, at, len(out))
		}
		if at, _ := a.c.Due(); at < a.now+grain {
			t.Errorf("due again at %v, at %v", at, a.now)
		}
		a.now += grain
	}
	a.now = 10 * time.Second
	a.pass(0)
	if out := a.step(Learn{owned(2, "b")}); len(out) != atOnce {
		t.Errorf("%d requests go to the new owner at once", len(out))
	}
	if out := a.pass(repeatAfter - 1); len(out) != 2*atOnce {
		t.Errorf("%d more soon", len(out))
	}
}

// Requests that wait for a view go to their owner with the first.
func TestRequestsWaitForAView(t *testing.T) {
	a := &asking{t: t, c: NewRequests(Config{Self: "me", Late: never})}
	a.want(a.step(Ask{Num: 1, Object: "x", Body: directory.Stat{}}))
	a.step(Impatient{Num: 1, By: "impatient"})
	out := a.pass(4 * time.Second)
	a.want(out, "impatient")
	if err := out[0].(Silent).Err; err.Node != "me" || err.Kind != phalanx.ErrUnavailable {
		t.Errorf("%v", err)
	}
	a.want(a.step(Learn{owned(1, "a")}), n(1))
}

// An impatient caller of a report that is held hears nothing until it is sent: the node has not
// asked the owner.
func TestAHeldReportIsNotSilent(t *testing.T) {
	a := newAsking(t)
	a.step(Ask{Num: 1, Object: "x", Body: directory.Announce{}})
	a.step(Ask{Num: 2, Object: "x", Body: directory.Drop{}, By: "drop"})
	a.step(Impatient{Num: 2, By: "impatient"})
	for _, e := range a.pass(30 * time.Second) {
		if s, ok := e.(Silent); ok {
			t.Errorf("%v", s)
		}
	}
	a.want(a.step(Replied{"a", directory.Reply{To: "me", Num: 1, Object: "x", Epoch: 1}}), n(2))
	var told int
	for _, e := range a.pass(silentAfter + 100*ms) {
		if _, ok := e.(Silent); ok {
			told++
		}
	}
	if told != 1 {
		t.Errorf("the impatient caller hears of silence %d times", told)
	}
}

// An owner that has lost a shard and got it again has forgotten the waiting requests.
func TestAnOwnerThatIsTheSameAgainIsAskedAtOnce(t *testing.T) {
	a := newAsking(t)
	a.step(Ask{Num: 1, Object: "x", Body: directory.Locate{Wait: true}})
	a.step(Replied{"a", directory.Reply{To: "me", Num: 1, Object: "x", Epoch: 1, Result: directory.Result{Waiting: true}}})
	a.want(a.step(Learn{owned(2, "a")}), n(1))
	a.want(a.step(Learn{owned(2, "a")}))
}

// An answered watch waits for nothing: its owner counts as silent only after it has not
// answered a repeat.
func TestAWatchThatWasToldIsContent(t *testing.T) {
	a := newAsking(t)
	a.step(Ask{Num: 1, Object: "x", Body: directory.Watch{}})
	a.step(Told{"a", directory.Readiness{To: "me", Num: 1, Object: "x", Version: 1<<32 + 1}})
	a.step(Impatient{Num: 1, By: "impatient"})
	for _, e := range a.pass(watchAgain + silentAfter) {
		if _, ok := e.(Silent); ok {
			t.Fatal("the owner counts as silent too early")
		}
	}
	if out := a.pass(100 * ms); len(out) == 0 || out[len(out)-1].(Silent).By != "impatient" {
		t.Errorf("%v", out)
	}
}
