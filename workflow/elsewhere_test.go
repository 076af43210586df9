package workflow

import (
	"context"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/protocol/directory"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
	"github.com/phalanx-go/phalanx/storenode"
)

// elsewhere is a store that combines arrays on other nodes.
type elsewhere struct{ counted }

var floats = phalanx.Meta{Size: 1 << 20, DType: phalanx.Float64, Shape: []int64{1 << 17}}

func (elsewhere) Stat(context.Context, phalanx.ObjectID) (storenode.ObjectStat, error) {
	return storenode.ObjectStat{State: directory.Finished, Meta: floats}, nil
}

func (elsewhere) Reduce(_ context.Context, r storenode.Reduce) (storenode.ReduceResult, error) {
	return storenode.ReduceResult{Info: storenode.Info{Object: r.Target, Meta: floats}}, nil
}

// The node that has asked for a Reduce has no copies of the inputs, which were combined where they are.
func TestAReduceReadsNothing(t *testing.T) {
	r := &runner{sums: &elsewhere{}, store: newMemory()}
	a := &attempt{run: "r", path: "1", kind: core.Do, call: messages.GraphCall{Kind: messages.CallReduce, Op: phalanx.Sum, DType: phalanx.Float64},
		args: []supply{{given: given{object: Ref{id: "x", size: 1 << 20}}}, {given: given{object: Ref{id: "y", size: 1 << 20}}}}}
	if e := r.run(t.Context(), a, nil); e.err != nil || e.object.IsZero() || len(e.read) > 0 {
		t.Errorf("%v: %v was made, and %v read", e.err, e.object, e.read)
	}
}
