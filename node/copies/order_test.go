package copies

import (
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

var (
	g1 = phalanx.Generation{Epoch: 1, Seq: 1}
	g2 = phalanx.Generation{Epoch: 1, Seq: 2}
	g3 = phalanx.Generation{Epoch: 2, Seq: 1}
)

func TestObey(t *testing.T) {
	const epoch = 5
	forward := Verdict{Ack: true}
	with := func(change func(v *Verdict)) Verdict {
		v := forward
		change(&v)
		return v
	}
	announce := with(func(v *Verdict) { v.Announce = true })
	settle := with(func(v *Verdict) { v.Settle = true })
	drop := func(why Why) Verdict { return with(func(v *Verdict) { v.Drop = why }) }
	gone := func(why Why, gen phalanx.Generation) Verdict {
		return with(func(v *Verdict) { v.Drop, v.Gone = why, gen })
	}
	for _, c := range []struct {
		what  string
		order directory.Order
		here  Here
		want  Verdict
	}{
		{"what is complete here is announced", directory.PushFinal, Here{Gen: g2, Whole: true}, announce},
		{"also while somebody works on it", directory.PushFinal, Here{Gen: g2, Whole: true, Busy: true}, announce},
		{"a part is not", directory.PushFinal, Here{Gen: g2, Busy: true}, forward},
		{"another generation is not", directory.PushFinal, Here{Gen: g1, Whole: true}, forward},
		{"nor a newer one", directory.PushFinal, Here{Gen: g3, Whole: true}, forward},
		{"the origin's becomes complete", directory.PushFinal, Here{Gen: g2, Origin: true}, settle},
		{"an origin's of another generation does not", directory.PushFinal, Here{Gen: g1, Origin: true}, forward},
		{"a root that was lost is gone", directory.PushFinal, Here{}, with(func(v *Verdict) { v.Gone = g2 })},
		{"a fetch may have it soon", directory.PushFinal, Here{Busy: true}, forward},
		{"what was deleted goes", directory.PushDrop, Here{Gen: g2, Whole: true}, drop(Deleted)},
		{"an older one too", directory.PushDrop, Here{Gen: g1, Whole: true}, drop(Deleted)},
		{"and a part", directory.PushDrop, Here{Gen: g2, Busy: true}, drop(Deleted)},
		{"what was put again stays", directory.PushDrop, Here{Gen: g3, Whole: true}, forward},
		{"nothing is dropped of nothing", directory.PushDrop, Here{Busy: true}, forward},
		{"what is taken back goes, and the owner hears of it", directory.PushAbort, Here{Gen: g2, Whole: true}, gone(Aborted, g2)},
		{"an older one too", directory.PushAbort, Here{Gen: g1, Whole: true, Busy: true}, gone(Aborted, g1)},
		{"a part goes", directory.PushAbort, Here{Gen: g2, Origin: true}, drop(Aborted)},
		{"who is busy drops it", directory.PushAbort, Here{Gen: g2, Busy: true}, forward},
		{"a newer one stays", directory.PushAbort, Here{Gen: g3, Whole: true}, forward},
		{"nothing is aborted", directory.PushAbort, Here{}, forward},
		{"an older one is reset", directory.PushReset, Here{Gen: g1, Whole: true, Busy: true}, drop(Reset)},
		{"a part too", directory.PushReset, Here{Gen: g1}, drop(Reset)},
		{"who is busy resets it", directory.PushReset, Here{Gen: g1, Busy: true}, forward},
		{"the present one is not", directory.PushReset, Here{Gen: g2, Whole: true}, forward},
		{"nothing is reset", directory.PushReset, Here{}, forward},
		{"a copy is fetched", directory.PushCopy, Here{}, Verdict{Fetch: true, Ack: true}},
		{"once", directory.PushCopy, Here{Busy: true, Awaited: true}, Verdict{Ack: true}},
		{"beside other calls", directory.PushCopy, Here{Busy: true}, Verdict{Fetch: true, Ack: true}},
		{"not where the node leaves", directory.PushCopy, Here{Leaves: true}, Verdict{Ack: true}},
		{"what is spared ends", directory.PushSpare, Here{Busy: true, Awaited: true}, Verdict{Spare: true, Ack: true}},
		{"nothing is spared", directory.PushSpare, Here{Busy: true}, Verdict{Ack: true}},
		{"what is looked at is answered by its digest", directory.PushCheck, Here{Gen: g2, Whole: true}, Verdict{Check: true}},
	} {
		p := directory.Push{Object: "x", Gen: g2, Order: c.order, Seq: epoch << 32}
		if got := Obey(p, epoch, c.here); got != c.want {
			t.Errorf("%v: %s: %+v, want %+v", c.order, c.what, got, c.want)
		}
		if Forwarded(p, epoch) != (c.order <= directory.PushDrop) || Forwarded(p, epoch+1) {
			t.Errorf("%v: it is forwarded: %v, in the next epoch: %v", c.order, Forwarded(p, epoch), Forwarded(p, epoch+1))
		}
		late := Obey(p, epoch+1, c.here)
		if counts := c.order > directory.PushDrop; counts != (late == c.want) || !counts && late != (Verdict{}) {
			t.Errorf("%v of a former epoch: %s: %+v", c.order, c.what, late)
		}
		if got := Obey(p, epoch-1, c.here); got != c.want {
			t.Errorf("%v of an epoch to come: %s: %+v, want %+v", c.order, c.what, got, c.want)
		}
	}
}

func TestAnswered(t *testing.T) {
	for _, c := range []struct {
		what string
		r    directory.Result
		want Why
	}{
		{"it is listed", directory.Result{State: directory.Finished, Gen: g2}, Stays},
		{"it is made", directory.Result{State: directory.Begun, Gen: g2}, Stays},
		{"the owner has heard of nothing newer", directory.Result{State: directory.Finished, Gen: g1}, Stays},
		{"nobody can decide", directory.Result{State: directory.Unbound, Kind: phalanx.ErrUnavailable}, Stays},
		{"it waits", directory.Result{State: directory.Deleted, Waiting: true}, Stays},
		{"it was released", directory.Result{State: directory.Unbound}, Aborted},
		{"it was deleted", directory.Result{State: directory.Deleted, Gen: g2}, Deleted},
		{"there is a newer one", directory.Result{State: directory.Begun, Gen: g3}, Reset},
		{"the newer one is lost", directory.Result{State: directory.Lost, Gen: g3}, Reset},
	} {
		if got := Answered(g2, c.r); got != c.want {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}

// The root of a Reduce hears what has become of its target from the owner's answer: no order comes if
// the owner has not listed it.
func TestAnnounced(t *testing.T) {
	for _, c := range []struct {
		what  string
		r     directory.Result
		final bool
		why   Why
	}{
		{"it is made", directory.Result{State: directory.Begun, Gen: g2}, false, Stays},
		{"it is final", directory.Result{State: directory.Finished, Gen: g2}, true, Stays},
		{"it is lost, and found by this", directory.Result{State: directory.Lost, Gen: g2}, false, Stays},
		{"it is begun anew", directory.Result{State: directory.Begun, Gen: g3}, false, Reset},
		{"a newer one is final", directory.Result{State: directory.Finished, Gen: g3}, false, Reset},
		{"it was released", directory.Result{State: directory.Unbound}, false, Aborted},
		{"it was deleted", directory.Result{State: directory.Deleted, Gen: g2}, false, Deleted},
		{"nobody can decide", directory.Result{State: directory.Unbound, Kind: phalanx.ErrUnavailable}, false, Stays},
	} {
		if final, why := Announced(g2, c.r); final != c.final || why != c.why {
			t.Errorf("%s: %v, %v", c.what, final, why)
		}
	}
}

func TestReported(t *testing.T) {
	gen := phalanx.Generation{Epoch: 1, Seq: 2}
	for _, c := range []struct {
		report directory.Body
		want   phalanx.Generation
	}{
		{(&Copy{Gen: gen}).Announcement(false), gen},
		{directory.Done{Gen: gen, Complete: true}, gen},
		{directory.Announce{Gen: gen, Origin: true, Begun: true}, phalanx.Generation{}},
		{directory.Done{Gen: gen}, phalanx.Generation{}},
		{directory.Drop{Gen: gen}, phalanx.Generation{}},
	} {
		if got := Reported(c.report); got != c.want {
			t.Errorf("%T%+v: %v", c.report, c.report, got)
		}
	}
}

func TestTells(t *testing.T) {
	r := directory.Result{State: directory.Finished, Gen: g2, Tag: "t"}
	if !Tells(g2, r) {
		t.Error("it does not tell of the Reduce")
	}
	for what, change := range map[string]func(r *directory.Result){
		"an error":           func(r *directory.Result) { r.Kind = phalanx.ErrUnavailable },
		"it waits":           func(r *directory.Result) { r.Waiting = true },
		"not final":          func(r *directory.Result) { r.State = directory.Begun },
		"another generation": func(r *directory.Result) { r.Gen = g3 },
		"no tag":             func(r *directory.Result) { r.Tag = "" },
	} {
		s := r
		if change(&s); Tells(g2, s) {
			t.Errorf("%s: it tells of the Reduce", what)
		}
	}
}
