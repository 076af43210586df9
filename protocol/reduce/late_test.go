package reduce_test

import (
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/reduce"
)

func ofOne(attempt uint64) *reduce.Coordinator {
	return reduce.New(reduce.Config{Target: "T", Sources: []phalanx.ObjectID{"R1"}, Num: 1, Op: phalanx.Sum, Node: "C", Attempt: attempt, Degree: 1})
}

func readyIn(seq uint64) reduce.Ready {
	return reduce.Ready{Source: "R1", Node: "N1", Gen: gen(seq), Meta: meta(4096), Kind: reduce.Complete}
}

// Late news of an earlier generation of a source change nothing: neither that it is ready, nor
// that it is gone.
func TestAnEarlierGenerationOfASource(t *testing.T) {
	c := ofOne(1)
	c.Step(reduce.Start{})
	c.Step(reduce.Begun{Gen: gen(1)})
	c.Step(reduce.SourceReset{Source: "R1", Gen: gen(2)})
	if did := c.Step(readyIn(1)); len(did) > 0 {
		t.Errorf("ready: %v", did)
	}
	if did := c.Step(readyIn(2)); len(did) == 0 {
		t.Fatal("nothing is placed")
	}
	for _, kind := range []phalanx.Kind{phalanx.ErrDeleted, phalanx.ErrAborted} {
		if did := c.Step(reduce.SourceGone{Source: "R1", Gen: gen(1), Kind: kind}); len(did) > 0 || c.Places()[0].State != "live" {
			t.Errorf("%v: %v", kind, did)
		}
	}
}

// A coordinator that was started again counts what nodes answer to it, and not to the one before.
func TestAnAnswerToAnEarlierAttempt(t *testing.T) {
	c := ofOne(2)
	c.Step(reduce.Resume{Reduce: gen(1), Degree: 1, Meta: meta(4096), Nodes: []phalanx.NodeID{"N1"}})
	c.Step(reduce.Begun{Gen: gen(1)})
	c.Step(readyIn(1))
	for attempt := range uint64(3) {
		did := c.Step(reduce.Inspected{Node: "N1", Attempt: attempt})
		if counts := len(did) > 0; counts != (attempt == 2) {
			t.Errorf("an answer to attempt %d: %v", attempt, did)
		}
	}
}

// A node that was removed may still be told of as a holder: nothing is placed there.
func TestAHolderThatIsGone(t *testing.T) {
	c := ofOne(1)
	c.Step(reduce.Start{})
	c.Step(reduce.Begun{Gen: gen(1)})
	c.Step(reduce.NodeGone{Node: "N1", Down: true})
	if did := c.Step(readyIn(1)); len(did) > 0 {
		t.Errorf("ready at a node that is gone: %v", did)
	}
	at := readyIn(1)
	at.Node = "N2"
	if did := c.Step(at); len(did) == 0 {
		t.Error("nothing is placed at a node that lives")
	}
}

// An output of an earlier label is not told as that of the present one.
func TestAnOutputOfAnEarlierLabel(t *testing.T) {
	p := reduce.NewPlace(reduce.PlaceConfig{})
	p.Step(reduce.Commanded{State: reduce.State{Target: "T", Reduce: gen(1), Attempt: 1, Version: 1, Gen: reduce.PlaceGen{Attempt: 1, Seq: 2},
		Source: "R1", SourceGen: gen(1), Op: phalanx.Sum, Meta: meta(4096), Root: true, TargetGen: gen(1)}})
	for seq := range uint64(4) {
		did := p.Step(reduce.OutputDone{Gen: reduce.PlaceGen{Attempt: 1, Seq: seq}, Size: 4096})
		if told := len(did) > 0; told != (seq == 2) {
			t.Errorf("an output of label %d: %v", seq, did)
		}
	}
}
