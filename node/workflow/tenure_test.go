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
