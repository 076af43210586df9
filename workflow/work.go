package workflow

import (
	"bytes"
	"fmt"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/messages"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// works is what a controller's host keeps of a workflow: Work.Of.
type works struct {
	graph *messages.Graph
}

// workOf returns a workflow as a run has it, with its recorded form.
func workOf(g *messages.Graph, form []byte) (*core.Work, error) {
	lowered, err := lower(g)
	if err != nil {
		return nil, err
	}
	w := &core.Work{Graph: lowered, Calls: make([]int32, len(g.Tasks)), Digest: dataplane.DigestBytes(form), Of: &works{g}}
	functions := map[core.Function]int32{}
	of := make([]int32, len(g.Calls))
	for i, c := range g.Calls {
		f := core.Function{Name: c.Name, Version: c.Version}
		n, known := functions[f]
		if !known {
			n = int32(len(w.Functions))
			functions[f] = n
			w.Functions = append(w.Functions, f)
		}
		of[i] = n
	}
	for v := range g.Tasks {
		w.Calls[v] = of[g.Tasks[v].Call]
	}
	if len(g.Constants) > 0 {
		w.Constants = constantsOf(g)
	}
	for at := 0; at < len(form); at += core.MaxWrite {
		w.Parts = append(w.Parts, form[at:min(at+core.MaxWrite, len(form))])
	}
	return w, nil
}

// constantsOf returns the digests of the constants of each task.
func constantsOf(g *messages.Graph) []phalanx.Digest {
	all := make([]phalanx.Digest, len(g.Tasks))
	single := make([]phalanx.Digest, len(g.Constants))
	for i, b := range g.Constants {
		single[i] = dataplane.DigestBytes(b)
	}
	var b []byte
	for v := range g.Tasks {
		b = b[:0]
		for _, in := range g.Tasks[v].Inputs {
			switch in.Kind {
			case messages.InputConstant:
				b = append(b, single[in.N][:]...)
			case messages.InputList:
				b = fmt.Appendf(b, "%d", in.N)
			}
		}
		if len(b) > 0 {
			all[v] = dataplane.DigestBytes(b)
		}
	}
	return all
}

// workFrom is workOf for a recorded form.
func workFrom(form []byte) (*core.Work, error) {
	g, err := messages.UnmarshalGraph(form)
	if err != nil {
		return nil, err
	}
	return workOf(g, form)
}

// rows is the form of rows in the ledger.
type rows struct{}

var _ flow.Codec = rows{}

func (rows) Encode(v core.RowValue) ([]byte, error) { return messages.MarshalRow(v) }

func (rows) Decode(b []byte, tasks int) (core.RowValue, error) {
	return messages.UnmarshalRow(b, tasks)
}

func (rows) Work(parts [][]byte) (*core.Work, error) {
	w, err := workFrom(bytes.Join(parts, nil))
	if err == nil {
		w.Parts = nil // the ledger has them
	}
	return w, err
}
