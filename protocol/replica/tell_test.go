package replica

import "testing"

// A member goes on with its answer for the question that follows, repeats a part for a copy of the
// question before, and heeds no earlier one.
func TestQuestionsInOrder(t *testing.T) {
	var all Tellings[int]
	first := Question{Term: 3, Stamp: 10}
	one, do := all.Asked(20, "a#1", first)
	if do != TellAnew {
		t.Fatalf("the first question: %d", do)
	}
	one.Answer, one.More = 7, true
	next := func(part int) Question { return Question{Term: 3, Stamp: 10, Said: one.Said, Part: part} }
	for i, c := range []struct {
		q    Question
		want Tell
		part int // that is told afterwards
	}{
		{first, TellSame, 0},
		{next(2), TellNothing, 0},
		{next(1), TellNext, 1},
		{next(1), TellSame, 1},
		{next(0), TellNothing, 1},
		{next(2), TellNext, 2},
		{next(1), TellNothing, 2},
		{Question{Term: 3, Stamp: 9}, TellNothing, 2},
		{Question{Term: 2, Stamp: 10}, TellNothing, 2},
	} {
		if _, do := all.Asked(20, "a#1", c.q); do != c.want || one.Part != c.part {
			t.Errorf("question %d, %+v: %d, and part %d", i, c.q, do, one.Part)
		}
	}
	one.More = false
	if _, do := all.Asked(20, "a#1", next(3)); do != TellNothing {
		t.Errorf("after the last part: %d", do)
	}
	for _, q := range []Question{first, {Term: 3, Stamp: 11}, {Term: 4, Stamp: 11}} {
		was := all.Said
		again, do := all.Asked(20, "a#1", q)
		if do != TellAnew || again.Said <= was || again.Answer != 0 || again.Part != 0 {
			t.Errorf("%+v: %d, %+v", q, do, again)
		}
		again.Part = 1
	}
}
