package directory_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/directory"
	core "github.com/phalanx-go/phalanx/protocol/directory"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// wire notes what is sent, and when.
type wire struct {
	start time.Time
	late  time.Duration
	err   error // of every Send
	mu    sync.Mutex
	sent  []sent
}

type sent struct {
	at time.Duration
	to phalanx.NodeID
	v  any
}

func (w *wire) Send(to phalanx.NodeID, _ int, v any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, sent{time.Since(w.start), to, v})
	return w.err
}

// all returns everything that was sent.
func (w *wire) all() []sent {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.sent)
}

// requests returns to whom and when a request was sent.
func (w *wire) requests(num uint64) (to []phalanx.NodeID, at []time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.sent {
		if r, ok := s.v.(core.Request); ok && r.Num == num {
			to, at = append(to, s.to), append(at, s.at)
		}
	}
	return to, at
}

func owned(number uint64, owner phalanx.NodeID) view.View {
	return view.View{Number: number, Shards: []view.Shard{{Epoch: number, Owner: owner}}}
}

// bubble runs f with a client in fake time.
func bubble(t *testing.T, f func(c *directory.Client, w *wire)) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{start: time.Now()}
		c := directory.NewClient("me", w, func() time.Duration { return time.Since(w.start) }, func() time.Duration { return w.late })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { c.Run(ctx); close(done) }()
		synctest.Wait()
		f(c, w)
		cancel()
		<-done
	})
}

func pass(d time.Duration) {
	<-time.After(d) // of the bubble's time
	synctest.Wait()
}

func TestARequestIsRepeatedWithItsNumberUntilItIsAnswered(t *testing.T) {
	bubble(t, func(c *directory.Client, w *wire) {
		var got []core.Result
		c.Request("x", 7, core.Stat{}, func(_ phalanx.NodeID, r core.Result) { got = append(got, r) })
		pass(30 * time.Millisecond)
		if len(w.sent) != 0 {
			t.Fatalf("sent %v without a view", w.sent)
		}
		c.Learn(owned(1, "a"))
		pass(160 * time.Millisecond) // 50 and 100 later
		to, at := w.requests(7)
		if len(to) != 3 || slices.ContainsFunc(to, func(n phalanx.NodeID) bool { return n != "a" }) {
			t.Fatalf("sent to %v at %v, want three times to a", to, at)
		}
		c.Replied("a", core.Reply{To: "me", Num: 7, Object: "x", Result: core.Result{State: core.Begun}})
		c.Replied("a", core.Reply{To: "me", Num: 7, Object: "x", Result: core.Result{State: core.Finished}})
		pass(time.Second)
		if again, _ := w.requests(7); len(again) != 3 || len(got) != 1 || got[0].State != core.Begun {
			t.Errorf("sent %d times, delivered %v", len(again), got)
		}
	})
}

func TestARequestThatWaitsIsRepeatedSlowlyAndAtOnceToANewOwner(t *testing.T) {
	bubble(t, func(c *directory.Client, w *wire) {
		c.Learn(owned(1, "a"))
		var got []phalanx.NodeID
		c.Request("x", 7, core.Locate{Wait: true}, func(owner phalanx.NodeID, r core.Result) { got = append(got, owner) })
		c.Replied("a", core.Reply{To: "me", Num: 7, Object: "x", Result: core.Result{Waiting: true}})
		pass(900 * time.Millisecond)
		if to, _ := w.requests(7); len(to) != 1 {
			t.Errorf("repeated to %v although it waits", to)
		}
		c.Learn(owned(2, "b"))
		if to, _ := w.requests(7); len(to) != 2 || to[1] != "b" {
			t.Errorf("sent to %v, want a and then b", to)
		}
		c.Replied("a", core.Reply{To: "me", Num: 7, Object: "x", Result: core.Result{Lease: 1, Sender: "s"}})
		c.Replied("b", core.Reply{To: "me", Num: 7, Object: "x", Result: core.Result{Lease: 2, Sender: "s"}})
		if !slices.Equal(got, []phalanx.NodeID{"a", "b"}) {
			t.Errorf("answers of %v were delivered, want a's Waiting and b's lease", got)
		}
	})
}

func TestASilentOwnerIsToldOfAndTheRequestGoesOn(t *testing.T) {
	bubble(t, func(c *directory.Client, w *wire) {
		c.Learn(owned(1, "a"))
		answers := 0
		c.Request("x", 7, core.Locate{Wait: true}, func(phalanx.NodeID, core.Result) { answers++ })
		var told []*phalanx.Error
		c.Impatient(7, func(err *phalanx.Error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			told = append(told, err)
		})
		complaints := func() []*phalanx.Error {
			w.mu.Lock()
			defer w.mu.Unlock()
			return slices.Clone(told)
		}
		pass(2 * time.Second)
		c.Replied("a", core.Reply{To: "me", Num: 7, Object: "x", Result: core.Result{Waiting: true}}) // it is there
		pass(2 * time.Second)
		c.Learn(owned(2, "b")) // a new one has as much time
		pass(2 * time.Second)
		if all := complaints(); len(all) != 0 {
			t.Fatalf("told of %v", all)
		}
		pass(2 * time.Second)
		if all := complaints(); len(all) != 1 || all[0].Kind != phalanx.ErrUnavailable || all[0].Node != "b" || all[0].Object != "x" {
			t.Fatalf("told of %v, want b, once", all)
		}
		before, _ := w.requests(7)
		pass(time.Second)
		if after, _ := w.requests(7); len(after) <= len(before) || len(complaints()) != 1 {
			t.Errorf("%d requests, then %d; told of %v", len(before), len(after), complaints())
		}
		pass(3 * time.Second)
		if all := complaints(); len(all) != 2 { // somebody else may wait for it by now
			t.Errorf("told of %v, want b, again", all)
		}
		c.Replied("b", core.Reply{To: "me", Num: 7, Object: "x", Result: core.Result{Lease: 2, Sender: "s"}})
		if answers != 2 {
			t.Errorf("%d answers were delivered, want a's and b's", answers)
		}
	})
}

// A watch that somebody is impatient for is repeated often enough to notice a silent
// owner, and one that tells whenever it is asked is not silent.
func TestASilentOwnerOfAWatchIsToldOf(t *testing.T) {
	bubble(t, func(c *directory.Client, w *wire) {
		c.Learn(owned(1, "a"))
		c.Watch("x", 7, func(core.Readiness) {})
		told := make(chan *phalanx.Error, 10)
		c.Impatient(7, func(err *phalanx.Error) { told <- err })
		for v := uint64(1); v <= 8; v++ {
			before, _ := w.requests(7)
			c.Ready("a", core.Readiness{To: "me", Num: 7, Version: 1<<32 + 1, Object: "x"})
			pass(1100 * time.Millisecond)
			if after, _ := w.requests(7); len(after) == len(before) {
				t.Fatal("it is not repeated")
			}
		}
		if len(told) > 0 {
			t.Fatalf("told of %v", <-told)
		}
		pass(4 * time.Second)
		if len(told) != 1 {
			t.Fatalf("told %d times of a silent owner", len(told))
		}
		if err := <-told; err.Kind != phalanx.ErrUnavailable || err.Node != "a" || err.Object != "x" {
			t.Errorf("told of %v", err)
		}
	})
}

// An owner that answers others has much to do: it is asked ever later, and has
// more time for a request until the caller is told.
func TestABusyOwnerHasMoreTime(t *testing.T) {
	bubble(t, func(c *directory.Client, w *wire) {
		c.Learn(owned(1, "a"))
		ignore := func(phalanx.NodeID, core.Result) {}
		c.Request("x", 7, core.Stat{}, ignore)
		told := make(chan *phalanx.Error, 10)
		c.Impatient(7, func(err *phalanx.Error) { told <- err })
		for num := uint64(8); num < 22; num++ { // one a second
			c.Request("x", num, core.Stat{}, ignore)
			c.Replied("a", core.Reply{To: "me", Num: num, Object: "x"})
			pass(time.Second)
		}
		if len(told) > 0 {
			t.Fatalf("told of %v after 14 s", <-told)
		}
		_, at := w.requests(7)
		for i, last := 1, time.Duration(0); i < len(at); i++ {
			gap := at[i] - at[i-1]
			if gap < last || gap > time.Second {
				t.Errorf("asked at %v", at)
				break
			}
			last = gap - 10*time.Millisecond // the sweeps' grain
		}
		if len(at) > 25 {
			t.Errorf("asked %d times in 14 s", len(at))
		}
		for num := uint64(22); num < 24; num++ {
			c.Request("x", num, core.Stat{}, ignore)
			c.Replied("a", core.Reply{To: "me", Num: num, Object: "x"})
			pass(time.Second)
		}
		if len(told) != 1 {
			t.Errorf("told %d times after 16 s, want once", len(told))
		}
	})
}

// Where silence is noticed later, an owner may be silent for longer.
func TestSilenceIsLongerWhereMachinesAreBusy(t *testing.T) {
	bubble(t, func(c *directory.Client, w *wire) {
		w.late = 2 * time.Second
		c.Learn(owned(1, "a"))
		c.Request("x", 7, core.Stat{}, func(phalanx.NodeID, core.Result) {})
		told := make(chan *phalanx.Error, 10)
		c.Impatient(7, func(err *phalanx.Error) { told <- err })
		pass(4900 * time.Millisecond)
		if len(told) > 0 {
			t.Errorf("told of %v after 4.9 s", <-told)
		}
		pass(200 * time.Millisecond)
		if len(told) != 1 {
			t.Errorf("told %d times after 5.1 s", len(told))
		}
	})
}

func TestAnOwnerThatIsNoneIsAskedAgainSoon(t *testing.T) {
	bubble(t, func(c *directory.Client, w *wire) {
		c.Learn(owned(1, "a"))
		c.Request("x", 7, core.Stat{}, func(phalanx.NodeID, core.Result) { t.Error("a refusal was delivered") })
		c.Replied("a", core.Reply{To: "me", Num: 7, Object: "x", Result: core.Result{NotOwner: true}})
		pass(25 * time.Millisecond)
		if to, at := w.requests(7); len(to) < 2 {
			t.Errorf("sent to %v at %v", to, at)
		}
		c.Forget(7)
		before := len(w.all())
		pass(time.Second)
		if len(w.all()) != before {
			t.Error("a forgotten request was repeated")
		}
	})
}

func TestAWatchIsAcknowledgedAndFollowsItsShard(t *testing.T) {
	bubble(t, func(c *directory.Client, w *wire) {
		c.Learn(owned(1, "a"))
		var got []uint64
		const a, b = 1 << 32, 2 << 32 // the epochs
		c.Watch("x", 7, func(r core.Readiness) { got = append(got, r.Version) })
		for _, version := range []uint64{a + 1, a + 2, a + 2, a + 1} {
			c.Ready("a", core.Readiness{To: "me", Num: 7, Object: "x", Version: version})
		}
		if !slices.Equal(got, []uint64{a + 1, a + 2}) {
			t.Errorf("versions %v were delivered, want each once and in order", got)
		}
		pass(40 * time.Millisecond)
		var acks []uint64
		for _, s := range w.all() {
			if a, ok := s.v.(core.WatchAcked); ok && s.to == "a" {
				acks = append(acks, a.Version)
			}
		}
		if !slices.Equal(acks, []uint64{a + 2}) {
			t.Errorf("versions %v were acknowledged, want the newest, once", acks)
		}
		c.Learn(owned(2, "b"))
		if to, _ := w.requests(7); len(to) != 2 || to[1] != "b" {
			t.Errorf("watched at %v", to)
		}
		c.Ready("b", core.Readiness{To: "me", Num: 7, Object: "x", Version: b + 1})
		if !slices.Equal(got, []uint64{a + 1, a + 2, b + 1}) {
			t.Errorf("versions %v, want the new owner's first one too", got)
		}
		c.Forget(7)
		c.Ready("b", core.Readiness{To: "me", Num: 7, Object: "x", Version: b + 2}) // is answered by the end of the watch, at once
		before := len(w.all())
		pass(40 * time.Millisecond)
		after := w.all()
		if len(after) != before+1 {
			t.Fatalf("%d messages after the end of the watch, want one: what was owed to it is not sent", len(after)-before)
		}
		last := after[len(after)-1]
		if r, ok := last.v.(core.Request); !ok || last.to != "b" {
			t.Errorf("the end of the watch was told by %+v", last)
		} else if b, ok := r.Body.(core.Cancel); !ok || b.Num != 7 {
			t.Errorf("the end of the watch was told by %+v", r)
		}
	})
}

// Of one object one report is under way at a time, in the order of the numbers.
func TestReportsOfOneObjectAreSentOneAfterTheOther(t *testing.T) {
	bubble(t, func(c *directory.Client, w *wire) {
		c.Learn(owned(1, "a"))
		answered := map[uint64]int{}
		report := func(id phalanx.ObjectID, num uint64, body core.Body) {
			c.Request(id, num, body, func(phalanx.NodeID, core.Result) { answered[num]++ })
		}
		sent := func(num uint64) int { to, _ := w.requests(num); return len(to) }
		answer := func(from phalanx.NodeID, num uint64) { c.Replied(from, core.Reply{To: "me", Num: num, Object: "x"}) }
		report("x", 1, core.Done{Lease: 1, Complete: true})
		report("x", 3, core.Evict{})
		report("x", 2, core.Announce{Complete: true})
		report("x", 4, core.Drop{})
		report("x", 5, core.Drop{})
		report("y", 6, core.Announce{})
		c.Request("x", 7, core.Locate{}, func(phalanx.NodeID, core.Result) {})
		pass(time.Second)
		if sent(1) < 2 || sent(6) == 0 || sent(7) == 0 || sent(2)+sent(3)+sent(4)+sent(5) > 0 {
			t.Fatalf("sent before the first was answered: %v", w.all())
		}
		c.Learn(owned(2, "b"))
		answer("a", 1)
		if sent(2) > 0 {
			t.Error("the answer of a former owner ended a report")
		}
		answer("b", 1)
		if to, _ := w.requests(2); !slices.Equal(to, []phalanx.NodeID{"b"}) || sent(3) > 0 {
			t.Errorf("then followed %v to %v", to, w.all())
		}
		answer("b", 2)
		c.Forget(3)
		pass(20 * time.Millisecond)
		answer("b", 4)
		if sent(3) != 1 || sent(5) != 0 || answered[4] != 1 || answered[5] != 1 {
			t.Errorf("sent %d, %d times, answered %v: two that say the same have one answer", sent(3), sent(5), answered)
		}
	})
}

// An owner may lose its shard and get it again, empty. What it has answered before is in
// nobody's records, and the request was sent to it anew.
func TestAnAnswerOfAFormerEpochDoesNotCount(t *testing.T) {
	bubble(t, func(c *directory.Client, w *wire) {
		c.Learn(owned(1, "a"))
		var got []core.State
		c.Request("x", 1, core.Begin{}, func(_ phalanx.NodeID, r core.Result) { got = append(got, r.State) })
		c.Learn(owned(2, "a"))
		was, _ := w.requests(1)
		c.Replied("a", core.Reply{To: "me", Num: 1, Object: "x", Epoch: 1, Result: core.Result{State: core.Begun}})
		pass(20 * time.Millisecond)
		if to, _ := w.requests(1); len(got) > 0 || len(to) <= len(was) {
			t.Errorf("told %v, and asked %d times, %d before: the owner of now is not asked again soon", got, len(to), len(was))
		}
		c.Replied("a", core.Reply{To: "me", Num: 1, Object: "x", Epoch: 2, Result: core.Result{State: core.Finished}})
		if !slices.Equal(got, []core.State{core.Finished}) {
			t.Errorf("told %v, want what the owner of now says", got)
		}
	})
}

// A report that its owner does not answer is given up after ten minutes, and those
// behind it go on.
func TestAReportThatIsGivenUpHoldsUpNone(t *testing.T) {
	bubble(t, func(c *directory.Client, w *wire) {
		c.Learn(owned(1, "a"))
		var first phalanx.Kind
		c.Request("x", 1, core.Drop{}, func(_ phalanx.NodeID, r core.Result) { first = r.Kind })
		c.Request("x", 2, core.Announce{}, func(phalanx.NodeID, core.Result) {})
		pass(10*time.Minute + 2*time.Second)
		if to, _ := w.requests(2); first != phalanx.ErrUnavailable || len(to) == 0 {
			t.Errorf("the first ended with %v, the second was sent %d times", first, len(to))
		}
	})
}

// A late word of a former owner is not news, and no sign that the present one has
// the watch: it is asked again.
func TestAWatchDoesNotHearAFormerOwner(t *testing.T) {
	readiness := func(epoch, n uint64, st core.State) core.Readiness {
		return core.Readiness{To: "me", Num: 7, Object: "x", Version: epoch<<32 + n, State: st}
	}
	for _, heard := range []bool{true, false} {
		bubble(t, func(c *directory.Client, w *wire) {
			c.Learn(owned(1, "a"))
			var got []core.State
			c.Watch("x", 7, func(r core.Readiness) { got = append(got, r.State) })
			if heard {
				c.Ready("a", readiness(1, 1, core.Begun))
			}
			c.Learn(owned(2, "b"))
			if heard {
				c.Ready("b", readiness(2, 1, core.Finished))
			}
			c.Ready("a", readiness(1, 2, core.Begun))
			if heard {
				if !slices.Equal(got, []core.State{core.Begun, core.Finished}) {
					t.Errorf("told %v: the last word is that of the former owner", got)
				}
				return
			}
			pass(200 * time.Millisecond)
			if to, _ := w.requests(7); len(got) > 0 || len(to) < 3 {
				t.Errorf("told %v, and watched at %v: the new owner is not asked again", got, to)
			}
			c.Learn(owned(3, "a")) // which has it again
			c.Ready("a", readiness(1, 3, core.Begun))
			if len(got) > 0 {
				t.Errorf("told %v, which was said two owners ago", got)
			}
			c.Ready("a", readiness(3, 1, core.Finished))
			if !slices.Equal(got, []core.State{core.Finished}) {
				t.Errorf("told %v, want what the owner says now", got)
			}
		})
	}
}

func TestAReportIsRepeatedUntilItsOwnerHasIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{start: time.Now()}
		r := directory.NewReporter("me", w, func() time.Duration { return time.Since(w.start) }, func() uint64 { return 1 }, func([]bool) [][]core.Holding { return [][]core.Holding{make([]core.Holding, 4000)} })
		r.Learn(owned(1, "a"))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { r.Run(ctx); close(done) }()
		pass(150 * time.Millisecond)
		var parts []uint64
		rounds := map[uint64]bool{}
		for _, s := range w.sent {
			h := s.v.(core.Holdings)
			rounds[h.Round] = true
			parts = append(parts, h.Part)
			if h.End != (h.Part == 1) || h.Epoch != 1 || s.to != "a" {
				t.Errorf("part %d: end %v, epoch %d, to %s", h.Part, h.End, h.Epoch, s.to)
			}
		}
		if len(rounds) < 2 || len(parts) != 2*len(rounds) || parts[0] != 0 || parts[1] != 1 {
			t.Errorf("parts %v in %d rounds", parts, len(rounds))
		}
		r.Acked("a", 0, 1)
		before := len(w.all())
		pass(time.Second)
		if len(w.all()) != before {
			t.Error("an acknowledged report was repeated")
		}
		r.Learn(owned(2, "a"))
		pass(time.Second)
		if len(w.all()) != before {
			t.Error("who was told, and has been the owner all the time, was told again")
		}
		r.Learn(owned(4, "a"))
		pass(time.Millisecond)
		if len(w.all()) != before+2 {
			t.Error("an owner that may have lost the shard in a view that was missed was not told again")
		}
		r.Acked("a", 0, 4)
		before = len(w.all())
		r.Learn(owned(5, "b"))
		pass(time.Millisecond)
		if len(w.sent) != before+2 || w.sent[before].to != "b" {
			t.Error("a new owner was not told")
		}
		cancel()
		<-done
	})
}

// A request that no connection takes is not repeated for ever: its caller hears why.
func TestARequestThatCannotBeSentFailsAtOnce(t *testing.T) {
	bubble(t, func(c *directory.Client, w *wire) {
		answers := map[uint64]core.Result{}
		ask := func(num uint64) {
			c.Request("x", num, core.Stat{}, func(_ phalanx.NodeID, r core.Result) { answers[num] = r })
		}
		ask(1) // while there is no view
		w.err = &phalanx.Error{Op: "send", Node: "a", Kind: phalanx.ErrInvalid, Err: errors.New("it has 9 bytes")}
		c.Learn(owned(1, "a"))
		ask(2)
		for _, num := range []uint64{1, 2} {
			if r := answers[num]; r.Kind != phalanx.ErrInvalid || r.Text != "it has 9 bytes" {
				t.Errorf("request %d was answered %+v", num, r)
			}
		}
		before := len(w.all())
		pass(5 * time.Second)
		if len(w.all()) != before {
			t.Error("what cannot be sent was repeated")
		}
		w.err = nil
		ask(3)
		c.Replied("a", core.Reply{To: "me", Num: 3, Object: "x", Result: core.Result{State: core.Begun}})
		if r := answers[3]; r.State != core.Begun {
			t.Errorf("the next request was answered %+v", r)
		}
	})
}
