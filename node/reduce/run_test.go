package reduce

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
	core "github.com/phalanx-go/phalanx/protocol/reduce"
)

func gen(n uint64) phalanx.Generation { return phalanx.Generation{Epoch: 1, Seq: n} }

var large = phalanx.Meta{Size: 1 << 20, DType: phalanx.Float32}

// bed is a Run on a node whose owners answer as the test says.
type bed struct {
	t   *testing.T
	r   *Run
	cfg Config
	mem Memory
	now time.Duration
	out []Effect // all of the last step

	num   uint64
	gone  phalanx.NodeID // no member
	whole map[phalanx.ObjectID]phalanx.Meta
}

func (b *bed) Num() uint64                  { b.num++; return b.num }
func (b *bed) Shards() int                  { return 4 }
func (b *bed) View() uint64                 { return 7 }
func (b *bed) Member(n phalanx.NodeID) bool { return n != b.gone }
func (b *bed) Whole(id phalanx.ObjectID) (phalanx.Generation, phalanx.Meta, bool) {
	m, ok := b.whole[id]
	return gen(1), m, ok
}

// newBed returns a Run of a and b that has begun.
func newBed(t *testing.T) *bed {
	b := &bed{t: t, cfg: Config{Within: time.Minute, Config: core.Config{Target: "sum", Sources: []phalanx.ObjectID{"a", "b"}, Num: 2, Op: phalanx.Sum,
		Node: "me", Room: 1 << 30, Degree: 2, InlineLimit: 1000}}}
	b.next()
	return b
}

// next begins the next attempt.
func (b *bed) next() {
	b.r = New(b.now, b.cfg, &b.mem, b)
	b.step(Start{})
}

func (b *bed) step(ev Event) []Effect {
	b.out = b.r.Step(b.now, ev)
	return b.out
}

// pass lets time pass, with the ticks that are due, and returns all effects.
func (b *bed) pass(d time.Duration) (all []Effect) {
	for end := b.now + d; ; {
		at, ok := b.r.Due()
		if !ok || at > end {
			b.now, b.out = end, all
			return all
		}
		b.now = at
		all = append(all, b.step(Tick{})...)
	}
}

// of returns the effects of type T of the last step.
func of[T Effect](b *bed) (found []T) {
	for _, e := range b.out {
		if e, ok := e.(T); ok {
			found = append(found, e)
		}
	}
	return found
}

// one returns the only effect of type T of the last step.
func one[T Effect](b *bed) T {
	b.t.Helper()
	found := of[T](b)
	if len(found) != 1 {
		b.t.Fatalf("%d effects of type %T, want one, among %v", len(found), found, b.out)
	}
	return found[0]
}

// none fails if the last step has an effect of type T.
func none[T Effect](b *bed) {
	b.t.Helper()
	if found := of[T](b); len(found) > 0 {
		b.t.Errorf("%T %+v", found[0], found[0])
	}
}

// ask returns the last pending request about a topic.
func (b *bed) ask(what asking) uint64 {
	b.t.Helper()
	for t, num := range b.r.asked {
		if t.what == what {
			return num
		}
	}
	b.t.Fatalf("the Run has no request of topic %d, but %v", what, b.r.asked)
	return 0
}

// reply answers the pending request about a topic.
func (b *bed) reply(what asking, r directory.Result) []Effect {
	b.t.Helper()
	return b.step(Answered{Num: b.ask(what), From: "owner", Result: r})
}

// ready tells the watch of a source that it is final at nodes.
func (b *bed) ready(id phalanx.ObjectID, m phalanx.Meta, nodes ...phalanx.NodeID) []Effect {
	r := directory.Readiness{Object: id, State: directory.Finished, Gen: gen(1), Meta: m}
	for _, n := range nodes {
		r.Ready = append(r.Ready, directory.Location{Node: n, Complete: true})
	}
	return b.tell(id, r)
}

func (b *bed) tell(id phalanx.ObjectID, r directory.Readiness) []Effect {
	if id == b.cfg.Target {
		return b.step(Told{Num: b.r.watch, Readiness: r})
	}
	for num, i := range b.r.survey.watches.sources {
		if b.cfg.Sources[i] == id {
			return b.step(Told{Num: num, Readiness: r})
		}
	}
	b.t.Fatalf("the Run does not watch %s", id)
	return nil
}

// small tells the watch of a source that it is final, and brings its one byte.
func (b *bed) small(id phalanx.ObjectID, v byte) []Effect {
	return b.tell(id, directory.Readiness{Object: id, State: directory.Finished, Gen: gen(1), Meta: phalanx.Meta{Size: 1, DType: phalanx.Uint8}, Inline: true, Bytes: []byte{v}})
}

// planted begins the target and places both sources, and returns the commands by place.
func (b *bed) planted() map[int]core.Command {
	b.t.Helper()
	b.reply(begin, directory.Result{State: directory.Begun, Gen: gen(5)})
	b.ready("a", large, "n1", "n3")
	b.ready("b", large, "n2", "n3")
	commands := map[int]core.Command{}
	for _, o := range of[Order](b) {
		if c, ok := o.Order.(core.Command); ok && o.To == c.Node {
			commands[c.State.Place] = c
		}
	}
	if len(commands) != 2 {
		b.t.Fatalf("the orders are %v", of[Order](b))
	}
	return commands
}

// acked has the actor of a place acknowledge its command.
func (b *bed) acked(c core.Command) []Effect {
	return b.step(Reported{Target: "sum", Reduce: gen(5), Place: fmt.Sprint("place/", c.State.Place),
		Event: core.Acked{Place: c.State.Place, Node: c.Node, Attempt: c.State.Attempt, Version: c.State.Version}})
}

func (b *bed) rootDone(c core.Command, reduce phalanx.Generation) []Effect {
	return b.step(Reported{Target: "sum", Reduce: reduce, Event: core.RootDone{Gen: c.State.Gen, TargetGen: c.State.TargetGen, Size: large.Size}})
}

// fails checks that the last step has told the caller of an error, once.
func (b *bed) fails(kind phalanx.Kind, object phalanx.ObjectID) {
	b.t.Helper()
	if a := one[Answer](b); a.Err == nil || a.Err.Kind != kind || a.Err.Object != object || a.Err.Op != "reduce" {
		b.t.Errorf("the caller hears %+v, want %v of %q", a, kind, object)
	}
}

// A restarted Run begins the target as the same run, and takes no answers to requests of the
// first attempt.
func TestAnswersToAnEarlierAttempt(t *testing.T) {
	b := newBed(t)
	first := one[Ask](b)
	watches := of[Watch](b)
	b.step(Failed{})
	for _, num := range []uint64{first.Num, watches[0].Num, watches[1].Num} {
		if !slices.Contains(of[Forget](b), Forget{num}) {
			t.Errorf("request %d goes on: %v", num, b.out)
		}
	}
	if w := one[Withdraw](b); w.Body != (directory.Cancel{Num: first.Num}) {
		t.Errorf("the Run withdraws %+v", w.Body)
	}
	b.next()
	second := one[Ask](b)
	if second.Num == first.Num || !reflect.DeepEqual(second.Body, first.Body) {
		t.Errorf("the Run asks %+v, and before %+v", second, first)
	}
	for _, ev := range []Event{Answered{Num: first.Num, Result: directory.Result{Kind: phalanx.ErrExists}},
		Silent{Num: first.Num, Err: &phalanx.Error{Kind: phalanx.ErrUnavailable}},
		Told{Num: watches[0].Num, Readiness: directory.Readiness{Object: "a", State: directory.Deleted}}} {
		if out := b.step(ev); len(out) > 0 {
			t.Errorf("%T counts: %v", ev, out)
		}
	}
	if commands := b.planted(); commands[0].State.Attempt != 2 {
		t.Errorf("the places get %+v", commands[0].State)
	}
}

// A report counts for the Reduce that it names, and only for that.
func TestReportsOfAnotherRun(t *testing.T) {
	b := newBed(t)
	commands := b.planted()
	if b.rootDone(commands[0], gen(4)); len(b.out) > 0 {
		t.Errorf("a report of another run counts: %v", b.out)
	}
	b.step(Reported{Target: "other", Reduce: gen(5), Event: core.RootDone{Gen: commands[0].State.Gen, TargetGen: gen(5), Size: large.Size}})
	if len(b.out) > 0 {
		t.Errorf("a report about another target counts: %v", b.out)
	}
	b.rootDone(commands[0], gen(5))
	final := one[Ask](b).Body.(directory.Final)
	if final.Gen != gen(5) || final.View != 7 || !final.Meta.Equal(large) {
		t.Errorf("the Run asks for %+v", final)
	}
	b.rootDone(commands[0], gen(5))
	none[Ask](b) // the first one goes on
	b.reply(finalise, directory.Result{State: directory.Finished, Gen: gen(5)})
	if a := one[Answer](b); a.Err != nil || a.Result.Gen != gen(5) || !a.Meta.Equal(large) || !slices.Equal(a.Result.In, b.cfg.Sources) {
		t.Errorf("the caller hears %+v", a)
	}
}

// Only the last combination of this attempt counts: each attempt counts them anew.
func TestCombinationsThatAreOutdated(t *testing.T) {
	b := newBed(t)
	b.reply(begin, directory.Result{State: directory.Begun, Gen: gen(5)})
	b.small("a", 1)
	b.small("b", 2)
	first := one[Combine](b)
	if first.Seq != 1 || first.Bytes[0][0]+first.Bytes[1][0] != 3 || first.Until != time.Minute {
		t.Errorf("the Run combines %+v", first)
	}
	b.step(Failed{})
	b.next()
	b.reply(begin, directory.Result{State: directory.Begun, Gen: gen(5)})
	b.small("a", 1)
	b.small("b", 2)
	failed := one[Combine](b)
	done := func(c Combine, v byte) []Effect {
		return b.step(Combined{Attempt: c.Attempt, Seq: c.Seq, Bytes: []byte{v}, Event: core.InlineDone{Seq: c.Seq, Size: 1}})
	}
	if done(first, 9); len(b.out) > 0 {
		t.Errorf("a combination of an earlier attempt counts: %v", b.out)
	}
	b.step(Combined{Attempt: failed.Attempt, Seq: failed.Seq, Event: core.InlineFailed{Seq: failed.Seq, Source: "a", Kind: phalanx.ErrNotFound}})
	b.pass(2 * time.Second)
	again := one[Combine](b)
	if done(failed, 8); len(b.out) > 0 || b.r.inline != nil {
		t.Errorf("an earlier combination counts: %v, %v", b.out, b.r.inline)
	}
	done(again, 3)
	if put := one[Ask](b).Body.(directory.PutInline); put.Bytes[0] != 3 || put.Gen != gen(5) {
		t.Errorf("the Run puts %+v", put)
	}
}

// The Run takes a node for gone that stays unknown: no later message would say so.
func TestStrangers(t *testing.T) {
	for _, known := range []bool{false, true} {
		b := newBed(t)
		b.gone = "n1"
		b.reply(begin, directory.Result{State: directory.Begun, Gen: gen(5)})
		b.ready("a", large, "n1")
		b.ready("b", large, "n2")
		if o := one[Order](b); o.To != "n2" {
			t.Errorf("the Run orders %+v", o)
		}
		b.pass(strangeFor - tickEvery)
		if known {
			b.gone = ""
		}
		b.pass(2 * tickEvery)
		ordered := slices.ContainsFunc(b.r.core.Places(), func(p core.PlaceInfo) bool { return p.Node == "n1" && p.State == "live" })
		if ordered != known {
			t.Errorf("the view has it: %v; its place is live: %v", known, ordered)
		}
	}
}

// The Run watches the actor of a place from its first report on. At its end the Run loses the
// place of the last command.
func TestPlacesAreWatched(t *testing.T) {
	for _, broke := range []bool{false, true} {
		b := newBed(t)
		c := b.planted()[1]
		if b.step(PlaceEnded{Place: "place/1"}); len(b.out) > 0 {
			t.Errorf("the end of an unwatched actor counts: %v", b.out)
		}
		b.acked(c)
		if w := one[WatchPlace](b); w.Place != "place/1" {
			t.Errorf("the Run watches %+v", w)
		}
		b.acked(c)
		none[WatchPlace](b)
		b.step(PlaceEnded{Place: "place/1", Broke: broke})
		i := slices.IndexFunc(of[Does](b), func(d Does) bool { n, ok := d.Effect.(core.Notify); return ok && n.What == core.NoteLost })
		want := map[bool]core.Reason{false: core.LostPanic, true: core.LostSuspected}[broke]
		if i < 0 {
			t.Fatalf("no place is lost: %v", b.out)
		}
		if n := of[Does](b)[i].Effect.(core.Notify); n.Place != 1 || n.Gen != c.State.Gen || n.Reason != want {
			t.Errorf("the Run has lost %+v, want %v", n, want)
		}
		if b.step(PlaceEnded{Place: "place/1"}); len(b.out) > 0 {
			t.Errorf("the place ends twice: %v", b.out)
		}
	}
}

// A caller whose Reduce fails waits until the target is free again, but not for long.
func TestTheCallerWaitsForTheRelease(t *testing.T) {
	for _, answered := range []bool{true, false} {
		b := newBed(t)
		b.reply(begin, directory.Result{State: directory.Begun, Gen: gen(5)})
		b.tell("a", directory.Readiness{Object: "a", State: directory.Begun, Gen: gen(1), Meta: large})
		b.tell("b", directory.Readiness{Object: "b", State: directory.Unbound})
		b.tell("a", directory.Readiness{Object: "a", State: directory.Deleted, Gen: gen(1)})
		none[Answer](b)
		if a := one[Ask](b).Body.(directory.Abort); a.Gen != gen(5) || a.Run != b.mem.number {
			t.Errorf("the Run asks for %+v", a)
		}
		b.pass(releaseFor - tickEvery)
		none[Answer](b)
		if answered {
			b.reply(abort, directory.Result{})
			one[End](b)
		} else {
			b.pass(tickEvery)
			none[End](b)
		}
		b.fails(phalanx.ErrDeleted, "a")
	}
}

// An actor that panics while its caller waits for the release tells it the error: the next
// attempt finds the target released, and does not know more.
func TestAnErrorOutlivesItsAttempt(t *testing.T) {
	b := newBed(t)
	c := b.planted()[0]
	b.step(Reported{Target: "sum", Reduce: gen(5), Event: core.CombineFailed{Place: 0, Gen: c.State.Gen, Source: "a", Kind: phalanx.ErrInvalid, Text: "bad"}})
	none[Answer](b)
	b.step(Failed{})
	b.fails(phalanx.ErrInvalid, "a")
	b.next()
	b.reply(begin, directory.Result{Kind: phalanx.ErrAborted, Text: "the owner has released the binding"})
	none[Answer](b)
}

// A caller gets one answer, whatever happens.
func TestTheCallerHasOneAnswer(t *testing.T) {
	b := newBed(t)
	b.planted()
	b.step(Canceled{&phalanx.Error{Kind: phalanx.ErrCanceled, Err: errors.New("the caller went away")}})
	b.fails(phalanx.ErrCanceled, "sum")
	b.step(Failed{})
	b.next() // this attempt only gives the target back
	b.reply(begin, directory.Result{State: directory.Begun, Gen: gen(5)})
	none[Answer](b)
	if a := one[Ask](b).Body.(directory.Abort); a.Gen != gen(5) {
		t.Errorf("the Run asks for %+v", a)
	}
	b.reply(abort, directory.Result{})
	b.step(Canceled{&phalanx.Error{Kind: phalanx.ErrClosed}})
	none[Answer](b)
}

// A Reduce watches its target once it takes long. If the owner is silent, whatever the request,
// the Reduce ends for its caller.
func TestTheTargetIsWatched(t *testing.T) {
	silence := &phalanx.Error{Kind: phalanx.ErrUnavailable}
	readiness := func(s directory.State, g, after uint64) directory.Readiness {
		return directory.Readiness{Object: "sum", State: s, Gen: gen(g), After: gen(after)}
	}
	for name, c := range map[string]struct {
		ev   func(b *bed) Event
		kind phalanx.Kind // 0: the Reduce goes on
	}{
		"it is deleted":             {func(b *bed) Event { return Told{b.r.watch, readiness(directory.Deleted, 5, 0)} }, phalanx.ErrDeleted},
		"it is put again":           {func(b *bed) Event { return Told{b.r.watch, readiness(directory.Finished, 6, 5)} }, phalanx.ErrDeleted},
		"an earlier one is deleted": {func(b *bed) Event { return Told{b.r.watch, readiness(directory.Deleted, 4, 0)} }, 0},
		"its watch is silent":       {func(b *bed) Event { return Silent{b.r.watch, silence} }, phalanx.ErrUnavailable},
		"another number is silent":  {func(b *bed) Event { return Silent{b.num + 1, silence} }, 0},
	} {
		b := newBed(t)
		b.reply(begin, directory.Result{State: directory.Begun, Gen: gen(5)})
		b.pass(watchAfter - tickEvery)
		none[Watch](b)
		b.pass(tickEvery)
		if w := one[Watch](b); w.Object != "sum" {
			t.Errorf("the Run watches %+v", w)
		}
		b.pass(time.Second)
		none[Watch](b)
		if b.step(c.ev(b)); c.kind == 0 && len(b.out) > 0 {
			t.Errorf("%s: %v", name, b.out)
		} else if c.kind != 0 {
			b.fails(c.kind, "sum")
		}
	}
	b := newBed(t)
	b.step(Silent{b.ask(begin), silence})
	b.fails(phalanx.ErrUnavailable, "sum")
}

// The owner's answer to Begin decides how a Reduce goes on.
func TestAnswersToBegin(t *testing.T) {
	for name, c := range map[string]struct {
		r    directory.Result
		want any
	}{
		"refused":           {directory.Result{Kind: phalanx.ErrExists, Text: "taken", Gen: gen(3), Deleted: gen(2)}, core.Rejected{Kind: phalanx.ErrExists, Text: "taken", Gen: gen(3), Deleted: gen(2)}},
		"begun":             {directory.Result{State: directory.Begun, Gen: gen(5)}, core.Begun{Gen: gen(5)}},
		"another's":         {directory.Result{State: directory.Begun, Gen: gen(5), Attached: "n2"}, core.Attached{Gen: gen(5), Coordinator: "n2"}},
		"final":             {directory.Result{State: directory.Finished, Gen: gen(5), Meta: large, Note: core.Note([]phalanx.ObjectID{"a", "b"}, []phalanx.ObjectID{"b"})}, core.Attached{Gen: gen(5), Final: true, Size: large.Size, In: []phalanx.ObjectID{"b"}, Out: []phalanx.ObjectID{"a"}}},
		"final, note lost":  {directory.Result{State: directory.Finished, Gen: gen(5), Meta: large}, core.Attached{Gen: gen(5), Final: true, Size: large.Size}},
		"final, unreadable": {directory.Result{State: directory.Finished, Gen: gen(5), Note: []byte{255}}, core.Rejected{Kind: phalanx.ErrInternal, Text: "the answer that owner recorded cannot be read: " + noteError()}},
	} {
		b := newBed(t)
		if got := b.r.answerOf(topic{}, Answered{From: "owner", Result: c.r}); fmt.Sprintf("%T%+v", got, got) != fmt.Sprintf("%T%+v", c.want, c.want) {
			t.Errorf("%s: %T%+v, want %T%+v", name, got, got, c.want, c.want)
		}
	}
	b := newBed(t)
	if b.reply(begin, directory.Result{Waiting: true}); len(b.out) > 0 || len(b.r.asked) != 1 {
		t.Errorf("a waiting request counts as answered: %v", b.out)
	}
}

func noteError() string {
	_, _, err := core.ReadNote([]phalanx.ObjectID{"a", "b"}, []byte{255})
	return err.Error()
}

// Nodes join a Reduce elsewhere, unless their sources are too small for a ring.
func TestJoin(t *testing.T) {
	for size, joins := range map[int64]bool{2 * core.RingGrain: true, core.RingGrain: false} {
		b := newBed(t)
		b.cfg.Shared, b.cfg.Degree, b.cfg.Latency, b.cfg.Bandwidth = true, 0, time.Millisecond, 1e9
		b.whole = map[phalanx.ObjectID]phalanx.Meta{"b": {Size: size, DType: phalanx.Uint8}}
		b.next()
		b.reply(begin, directory.Result{State: directory.Begun, Gen: gen(5), Attached: "n2"})
		if !joins {
			none[Join](b)
			continue
		}
		if j := one[Join](b); j.To != "n2" || j.Reduce != gen(5) || j.Joined.Node != "me" || len(j.Joined.Has) != 1 || j.Joined.Has[0].Source != "b" {
			t.Errorf("the Run sends %+v", j)
		}
	}
	b := newBed(t)
	b.step(Reported{Target: "sum", Reduce: gen(9), Event: core.Joined{Node: "n3"}}) // n3 knows of Begun first
	if commands := b.planted(); len(commands) != 2 {
		t.Errorf("the commands are %v", commands)
	}
}

// An actor that fails too often gives the target back. Where the node ends the view releases it.
func TestStopped(t *testing.T) {
	for _, closing := range []bool{false, true} {
		b := newBed(t)
		b.planted()
		b.step(Stopped{Closing: closing})
		b.fails(phalanx.ErrInternal, "sum")
		if w := of[Withdraw](b); (len(w) == 0) != closing || !closing && w[0].Body != (directory.Abort{Gen: gen(5), Run: b.mem.number}) {
			t.Errorf("the node ends: %v; the Run withdraws %v", closing, w)
		}
		if _, ok := b.r.Due(); ok {
			t.Error("a stopped Run wants a tick")
		}
	}
}

// A target that has started over is given back under its new generation: the owner has no other.
func TestStoppedAfterTheTargetHasStartedOver(t *testing.T) {
	b := newBed(t)
	commands := b.planted()
	b.acked(commands[0])
	b.acked(commands[1])
	b.step(PlaceEnded{Place: "place/1"})
	root, child := commands[0].State, commands[1].State
	b.step(Reported{Target: "sum", Reduce: gen(5), Event: core.NotDelivered{Parent: root.Place, ParentGen: root.Gen, Child: child.Place, ChildGen: child.Gen}})
	if body := one[Ask](b).Body; body != (directory.Restart{Gen: gen(5), Run: b.mem.number}) {
		t.Fatalf("the Run asks for %+v", body)
	}
	b.reply(restart, directory.Result{State: directory.Begun, Gen: gen(6)})
	b.step(Stopped{})
	if w := one[Withdraw](b); w.Body != (directory.Abort{Gen: gen(6), Run: b.mem.number}) {
		t.Errorf("the Run withdraws %+v", w.Body)
	}
}

// A restart does not put the deadline off.
func TestTheDeadlineAfterARestart(t *testing.T) {
	b := newBed(t)
	b.pass(b.cfg.Within / 2)
	b.step(Failed{})
	b.next()
	b.pass(b.cfg.Within/2 - tickEvery)
	none[Answer](b)
	b.pass(2 * tickEvery)
	b.fails(phalanx.ErrDeadline, "sum")
}

// The next attempt asks the nodes that had orders, and knows which have left meanwhile.
func TestResume(t *testing.T) {
	b := newBed(t)
	b.planted()
	b.step(Failed{})
	b.gone = "n2"
	b.next()
	asked := of[Order](b)
	if len(asked) != 1 || asked[0].To != "n1" && asked[0].To != "n3" {
		t.Errorf("the Run orders %+v", asked)
	}
	if _, ok := asked[0].Order.(core.Inspect); !ok {
		t.Errorf("the Run orders %+v", asked[0].Order)
	}
}
