package workflow

import (
	"slices"
	"strings"
	"testing"
	"time"

	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// An AskSure that the ledger is too busy for is repeated after pauses that double, and nothing ends.
func TestASureIsAskedAgainOfABusyLedger(t *testing.T) {
	tenure := NewTenure(core.ControllerConfig{Epoch: 1}, blind{}, 0)
	now := time.Duration(0)
	for _, pause := range []time.Duration{10, 20, 40, 80, 160, 320, 640, 1000, 1000} {
		tenure.Step(now, Busy{Number: 7})
		at, ok := tenure.Due()
		if want := now + pause*time.Millisecond; !ok || at != want {
			t.Fatalf("due at %v, %v, want %v", at, ok, want)
		}
		if early := tenure.Step(at-1, Tick{}); slices.Contains(early, TenureEffect(AskSure{Number: 7})) {
			t.Fatal("it is asked at once")
		}
		now = at
		if late := tenure.Step(now, Tick{}); !slices.Contains(late, TenureEffect(AskSure{Number: 7})) {
			t.Fatalf("it is not asked again: %v", late)
		}
	}
	tenure.Step(now, Assured{Number: 7})
	tenure.Step(now, Busy{Number: 8})
	if at, _ := tenure.Due(); at != now+10*time.Millisecond {
		t.Errorf("the pause after an answer is %v", at-now)
	}
}

// A controller whose Append is refused gives the tenure up: what comes behind it would leave a gap.
func TestARefusedAppendGivesTheTenureUp(t *testing.T) {
	tenure := NewTenure(core.ControllerConfig{Epoch: 1}, blind{}, 0)
	gave := 0
	for _, e := range append(tenure.Step(0, Refused{Why: "the disk is full"}), tenure.Step(0, Refused{Why: "the disk is full"})...) {
		if g, is := e.(GiveUp); is && strings.Contains(g.Why, "the disk is full") {
			gave++
		}
	}
	if gave != 1 {
		t.Errorf("the tenure was given up %d times", gave)
	}
	if _, ok := tenure.Due(); ok {
		t.Error("the tenure is over, and something is due")
	}
}
