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
	if got, next := o.At(answerIn); next != 0 || !slices.Equal(got, []phalanx.NodeID{"b#1"}) {
		t.Errorf("overdue is what %v owe, and next at %v", got, next)
	}
	o.Hear("b#1")
	o.Ask("b#1", answerIn)
	if got, next := o.At(2*answerIn - 1); len(got) > 0 || next != 2*answerIn {
		t.Errorf("overdue is what %v owe, and next at %v", got, next)
	}
}

// A node that is asked and does not answer is looked at 200 ms later, or with the first tick
// after the question. An answer that comes leaves the ticks as they were.
func TestAnOverdueAnswerIsLookedAtInTime(t *testing.T) {
	var members []phalanx.NodeID
	for _, r := range "abcdefghij" {
		members = append(members, phalanx.NodeID(r))
	}
	for after := time.Duration(0); after < 300*ms; after += 5 * ms {
		c, o := New(Config{Self: "e"}), NewOverdue()
		c.Step(Changed{Members: members, Voters: members[:3], Now: time.Second})
		asked, first, looked := 5*time.Second+after, time.Duration(0), time.Duration(0)
		for told := false; looked == 0; {
			now, _ := c.Due()
			if now >= asked && !told {
				o.Ask("j", asked)
				told, first = true, now
			}
			overdue, next := o.At(now)
			for _, e := range c.Step(Tick{Overdue: overdue, Owed: next, Now: now}) {
				if b, ok := e.(Beat); ok && b.Node == "j" {
					looked = now
				} else if ok {
					c.Step(Echoed{Node: b.Node, Now: now})
				}
			}
		}
		if looked != max(asked+answerIn, first) || looked > asked+300*ms {
			t.Errorf("asked at %v, the first tick came at %v, and the look at %v", asked, first, looked)
		}
	}
}
