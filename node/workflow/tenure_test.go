package workflow

import (
	"errors"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/ledger"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// blind is a codec that reads nothing.
type blind struct{ Codec }

func (blind) Decode([]byte, int) (core.RowValue, error) { return nil, errors.New("it is no row") }

// A result whose row cannot be read is corrupt, and not forgotten.
func TestResultThatCannotBeRead(t *testing.T) {
	tenure := NewTenure(core.ControllerConfig{Epoch: 1}, blind{}, 0)
	result := &core.Result{Outputs: []core.Located{{Row: "run/1/out", Output: core.Output{Recorded: true, Size: 3}}}}
	tenure.fill("b", Reply{Number: 5, Answer: core.Answer{Result: result}}, []ledger.Row{{Key: "run/1/out", Value: []byte("x")}})
	effects := tenure.take()
	if len(effects) != 1 {
		t.Fatalf("%d effects", len(effects))
	}
	r, is := effects[0].(Respond)
	if !is || r.To != "b" || r.Reply.Number != 5 || !errors.Is(r.Reply.Answer.Err, phalanx.ErrCorrupt) || !strings.Contains(r.Reply.Answer.Err.Error(), "run/1/out") {
		t.Errorf("%+v", effects[0])
	}
}

// Rows that are durable are asked for once the ledger says that they can be read.
func TestALookWaitsForWhatIsDurable(t *testing.T) {
	tenure := NewTenure(core.ControllerConfig{Epoch: 1}, blind{}, 0)
	var asked []uint64 // AskSures
	looks := func(effects []TenureEffect) (n int) {
		for len(effects) > 0 {
			e := effects[0]
			effects = effects[1:]
			switch e := e.(type) {
			case Look:
				n++
				effects = append(effects, tenure.Step(0, Looked{Number: e.Number})...)
			case AskSure:
				asked = append(asked, e.Number)
			}
		}
		return n
	}
	asks := func(id string) []TenureEffect {
		return tenure.Step(0, Asked{From: "b", Request: Request{Number: uint64(id[0]), Patience: 1, Call: core.GetStatus{ID: id}}})
	}
	if n := looks(tenure.Begin()); n == 0 || len(asked) > 0 {
		t.Fatalf("%d looks, asks %v: the disk has all rows as the tenure begins", n, asked)
	}
	if n := looks(asks("r")); n != 1 || len(asked) > 0 {
		t.Fatalf("%d looks, asks %v: nothing was appended", n, asked)
	}
	tenure.Step(0, Appended{Number: 1})
	if n := looks(asks("s")); n != 0 || len(asked) != 1 {
		t.Fatalf("%d looks, asks %v: what was appended cannot be read yet", n, asked)
	}
	if n := looks(tenure.Step(0, Assured{Number: asked[0]})); n != 1 {
		t.Errorf("%d looks, and all can be read", n)
	}
}

// A tenure is given up if the ledger refuses something although it goes on, or cannot be read: clients ask the next
// controller.
func TestRefusedGivesUp(t *testing.T) {
	for want, ev := range map[string]TenureEvent{"the ledger takes no more: busy": Refused{Why: "busy"}, "the ledger cannot be read: rot": Unread{Why: "rot"}} {
		tenure := NewTenure(core.ControllerConfig{Epoch: 1}, blind{}, 0)
		for _, e := range tenure.Begin() {
			if l, is := e.(Look); is {
				tenure.Step(0, Looked{Number: l.Number})
			}
		}
		tenure.Step(0, Asked{From: "b", Request: Request{Number: 7, Patience: 1, Call: core.GetStatus{ID: "r"}}})
		var again, why string
		for _, e := range tenure.Step(0, ev) {
			switch e := e.(type) {
			case Respond:
				if e.To == "b" && e.Reply.Number == 7 && e.Reply.Again {
					again = e.Reply.Answer.Err.Error()
				}
			case GiveUp:
				why = e.Why
			}
		}
		if !strings.Contains(again, "ask the next one") || why != want {
			t.Errorf("the client hears %q, the host %q", again, why)
		}
		if _, ok := tenure.Due(); ok {
			t.Error("it goes on")
		}
	}
}
