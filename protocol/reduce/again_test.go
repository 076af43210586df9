package reduce_test

import (
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

func gen(seq uint64) phalanx.Generation { return phalanx.Generation{Epoch: 1, Seq: seq} }

func ofThree() *reduce.Coordinator {
	return reduce.New(reduce.Config{Target: "t", Sources: []phalanx.ObjectID{"x", "y", "z"}, Num: 2, Op: phalanx.Sum, Node: "a", Room: 1 << 30, Attempt: 1, Degree: 2})
}

// begins returns what the Begins among the effects say was deleted, and the error of Fail.
func begins(effects []reduce.Effect) (after []phalanx.Generation, failed *phalanx.Error) {
	for _, e := range effects {
		switch e := e.(type) {
		case reduce.Begin:
			after = append(after, e.After)
		case reduce.Fail:
			failed = e.Err
		}
	}
	return after, failed
}

// A target that was deleted before is begun again. One that is deleted while it is made,
// or followed, ends its Reduce.
func TestADeletedTargetIsBegunAgain(t *testing.T) {
	deleted := func(seq uint64) reduce.Rejected {
		return reduce.Rejected{Kind: phalanx.ErrDeleted, Text: "the object was deleted", Gen: gen(seq), Deleted: gen(seq)}
	}
	released := func(seq, deleted uint64) reduce.Rejected {
		return reduce.Rejected{Kind: phalanx.ErrDeleted, Text: "the object was deleted", Gen: gen(seq), Deleted: gen(deleted)}
	}
	follows := reduce.Attached{Gen: gen(5), Coordinator: "b"}
	for name, c := range map[string]struct {
		events []reduce.Event
		after  []phalanx.Generation // of the last step
		fails  bool
	}{
		"before":                        {[]reduce.Event{reduce.Start{}, deleted(4)}, []phalanx.Generation{gen(4)}, false},
		"twice":                         {[]reduce.Event{reduce.Start{}, deleted(4), deleted(6)}, []phalanx.Generation{gen(6)}, false},
		"not known anew":                {[]reduce.Event{reduce.Start{}, deleted(4), deleted(4)}, nil, true},
		"what is followed":              {[]reduce.Event{reduce.Start{}, follows, deleted(5)}, nil, true},
		"before that":                   {[]reduce.Event{reduce.Start{}, follows, deleted(4)}, []phalanx.Generation{gen(4)}, false},
		"released":                      {[]reduce.Event{reduce.Start{}, follows, released(5, 3)}, []phalanx.Generation{gen(5)}, false},
		"another released":              {[]reduce.Event{reduce.Start{}, follows, released(7, 3)}, []phalanx.Generation{gen(7)}, false},
		"deleted, and another released": {[]reduce.Event{reduce.Start{}, follows, released(7, 5)}, nil, true},
		"its own":                       {[]reduce.Event{reduce.Start{}, reduce.Begun{Gen: gen(5)}, reduce.TargetGone{Kind: phalanx.ErrDeleted}}, nil, true},
	} {
		core := ofThree()
		var after []phalanx.Generation
		var failed *phalanx.Error
		for _, ev := range c.events {
			after, failed = begins(core.Step(ev))
		}
		if !slices.Equal(after, c.after) || (failed != nil) != c.fails {
			t.Errorf("%s: begins again after %v, error %v", name, after, failed)
		}
	}
}

// A source that was deleted counts again once it is put again.
func TestADeletedSourceIsPutAgain(t *testing.T) {
	core := ofThree()
	placed := 0
	step := func(ev reduce.Event) {
		for _, e := range core.Step(ev) {
			switch e := e.(type) {
			case reduce.Command:
				placed++
			case reduce.Fail:
				t.Errorf("after %T: %v", ev, e.Err)
			}
		}
	}
	ready := func(id phalanx.ObjectID, seq uint64) reduce.Ready {
		return reduce.Ready{Source: id, Node: "n", Gen: gen(seq), Meta: phalanx.Meta{Size: 4096, DType: phalanx.Float32, Shape: []int64{1024}}, Kind: reduce.Complete, Final: true}
	}
	step(reduce.Start{})
	step(reduce.Begun{Gen: gen(9)})
	step(reduce.Surveyed{})
	step(reduce.SourceGone{Source: "x", Gen: gen(1), Kind: phalanx.ErrDeleted})
	step(ready("x", 1)) // of before
	if placed > 0 {
		t.Error("what was deleted has a place")
	}
	step(reduce.SourceReset{Source: "x", Gen: gen(2)})
	step(ready("x", 2))
	step(ready("y", 1))
	step(reduce.SourceGone{Source: "z", Gen: gen(1), Kind: phalanx.ErrDeleted}) // two are left
	if got := core.Places(); placed < 2 || got[0].Source == "" || got[1].Source == "" {
		t.Errorf("the places are %+v", got)
	}
}
