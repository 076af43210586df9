package put

import (
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

var (
	older = phalanx.Generation{Epoch: 1, Seq: 1}
	gen   = phalanx.Generation{Epoch: 1, Seq: 2}
	later = phalanx.Generation{Epoch: 1, Seq: 3}
)

func TestRunning(t *testing.T) {
	var r Running[int]
	drop := func(gen phalanx.Generation) {
		r.Order(directory.Push{Object: "x", Order: directory.PushDrop, Gen: gen})
	}
	drop(gen) // nothing runs that could enter a copy
	r.Unlist("x")
	r.Remove("x", 1)
	if r.Has("x") || len(r.Of("x")) > 0 || len(r.Objects()) > 0 || r.Since("x") != (Since{}) {
		t.Errorf("an object without Puts: %v, %+v", r.Of("x"), r.Since("x"))
	}
	r.Add("y", 1)
	r.Add("x", 2)
	r.Add("x", 3)
	if !r.Has("x") || !slices.Equal(r.Objects(), []phalanx.ObjectID{"x", "y"}) || !slices.Equal(slices.Collect(r.All()), []int{2, 3, 1}) {
		t.Errorf("Puts of %v: %v", r.Objects(), slices.Collect(r.All()))
	}
	r.Order(directory.Push{Object: "x", Order: directory.PushReset, Gen: later})
	drop(gen)
	drop(older)
	r.Unlist("x")
	if got := r.Since("x"); got != (Since{Deleted: gen, Reset: later, Unlisted: true}) || r.Since("y") != (Since{}) {
		t.Errorf("since they began: %+v, %+v", got, r.Since("y"))
	}
	of := r.Of("x")
	if r.Remove("x", 2); !slices.Equal(of, []int{2, 3}) || !slices.Equal(r.Of("x"), []int{3}) || !r.Since("x").Unlisted {
		t.Errorf("one has ended: %v, %+v", r.Of("x"), r.Since("x"))
	}
	r.Remove("x", 3)
	r.Add("x", 4)
	if r.Since("x") != (Since{}) {
		t.Errorf("a later Put hears of %+v", r.Since("x"))
	}
}

// A Put that runs hears of the orders since it began, also if another Put of the object begins after them.
func TestALaterPutForgetsNothing(t *testing.T) {
	var r Running[int]
	r.Add("x", 1)
	r.Order(directory.Push{Object: "x", Order: directory.PushDrop, Gen: gen})
	r.Unlist("x")
	r.Add("x", 2)
	if got := r.Since("x"); got != (Since{Deleted: gen, Unlisted: true}) {
		t.Errorf("since the first began: %+v", got)
	}
	r.Remove("x", 2)
	if got := r.Since("x"); got != (Since{Deleted: gen, Unlisted: true}) {
		t.Errorf("the later one has ended: %+v", got)
	}
}

// All goes on while Puts end.
func TestPutsThatEndMeanwhile(t *testing.T) {
	var r Running[int]
	for i := range 4 {
		r.Add("x", i)
		r.Add("y", i+4)
	}
	n := 0
	for p := range r.All() {
		r.Remove("x", p)
		r.Remove("y", p)
		if n++; n == 6 {
			break
		}
	}
	if r.Has("x") || !slices.Equal(r.Of("y"), []int{6, 7}) {
		t.Errorf("there are still %v and %v", r.Of("x"), r.Of("y"))
	}
}

func TestLists(t *testing.T) {
	for _, b := range []directory.Body{directory.Final{}, directory.PutInline{}} {
		if !Lists(b) {
			t.Errorf("%T lists nothing", b)
		}
	}
	for _, b := range []directory.Body{directory.Begin{}, directory.AwaitCopies{}, directory.Abort{}} {
		if Lists(b) {
			t.Errorf("%T lists the node", b)
		}
	}
}

func TestAnnounced(t *testing.T) {
	for _, c := range []struct {
		copy  Copy
		since Since
		want  bool
	}{
		{Copy{Epoch: 5, Size: 9}, Since{Deleted: older}, false}, // the owner lists it
		{Copy{Epoch: 4, Size: 9}, Since{}, true},
		{Copy{Epoch: 5, Size: 10}, Since{}, true},
		{Copy{Epoch: 5, Size: 9}, Since{Unlisted: true}, true},
		{Copy{Size: 9}, Since{}, true}, // its Put may not run any more
	} {
		if got := c.copy.Announced(5, 10, c.since); got != c.want {
			t.Errorf("%+v, %+v: %v", c.copy, c.since, got)
		}
	}
}

func TestPut(t *testing.T) {
	for what, c := range map[string]struct {
		shown bool
		keep  Keep
	}{"others read it while it is made": {true, Finish}, "its bytes come at once": {false, Enter}} {
		var p Put
		if c.shown {
			p.Show()
		}
		if p.Drops() != c.shown {
			t.Errorf("%s: one that fails drops its copy: %v", what, p.Drops())
		}
		if first, again := p.Keep(), p.Keep(); first != c.keep || again != Nothing || p.Drops() {
			t.Errorf("%s: it is kept by %v, then by %v; dropped: %v", what, first, again, p.Drops())
		}
	}
}

// The epoch counts in which the owner was asked to list the copy, not that of another request.
func TestEntry(t *testing.T) {
	var p Put
	p.Ask(directory.Begin{}, 3)
	p.Ask(directory.Final{}, 4)
	p.Ask(directory.AwaitCopies{}, 5)
	if got := p.Entry(9); got != (Copy{Epoch: 4, Size: 9}) {
		t.Errorf("it enters %+v", got)
	}
}

// A Put that has its answer hears of no order. What comes before its copy is complete counts then.
func TestOrdersForACopyThatIsNotCompleteYet(t *testing.T) {
	gen := func(seq uint64) phalanx.Generation { return phalanx.Generation{Epoch: 3, Seq: seq} }
	for _, c := range []struct {
		what  string
		order directory.Order
		gen   phalanx.Generation
		ends  bool
	}{
		{"its binding was released", directory.PushAbort, gen(5), true},
		{"an earlier binding was released", directory.PushAbort, gen(4), false},
		{"another generation has replaced it", directory.PushReset, gen(6), true},
		{"it has replaced another one", directory.PushReset, gen(5), false},
		{"it is final", directory.PushFinal, gen(5), false},
	} {
		var r Running[int]
		if r.Since("x").Ends(gen(5)) {
			t.Fatalf("%s: it ends before the order", c.what)
		}
		r.Add("x", 1)
		r.Order(directory.Push{Object: "x", Order: c.order, Gen: c.gen})
		if r.Since("x").Ends(gen(5)) != c.ends {
			t.Errorf("%s: its copy ends: %v", c.what, !c.ends)
		}
	}
}
