package detect

import (
	"slices"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// A member that is asked again and again, and says nothing, owes an answer to the first
// question.
func TestAnAnswerIsOverdueSinceTheFirstQuestion(t *testing.T) {
	o := NewOverdue()
	for now := time.Duration(0); now < answerIn; now += 10 * time.Millisecond {
		o.Ask("b#1", now)
	}
	if got := o.At(answerIn); !slices.Equal(got, []phalanx.NodeID{"b#1"}) {
		t.Errorf("overdue is what %v owe", got)
	}
	o.Hear("b#1")
	o.Ask("b#1", answerIn)
	if got := o.At(2*answerIn - 1); len(got) > 0 {
		t.Errorf("overdue is what %v owe", got)
	}
}
