package messages

import "github.com/phalanx-go/phalanx/protocol/workflow"

// Job is what an attempt runs: a task of a recorded graph, without the rest of the graph.
type Job struct {
	Call      GraphCall
	Args      []GraphInput // as GraphTask.Inputs, but N of a task is its place in the inputs of the order
	Constants [][]byte     // N of a constant is its place in these
	Object    bool         // the output is not recorded: it becomes an object, however small it is
	Result    bool         // the run ends with it
}

// Fit makes an order fit to be sent, with the job of its task. Inputs that the task follows without reading
// them stay behind, and so do arguments for which the order has no input (Graph.Needs). Recorded outputs stay in their rows, and
// unrecorded ones in the store, once the others have budget bytes; row names the row of an output.
func Fit(o workflow.Order, g *Graph, budget int, row func(workflow.Located) string) workflow.Order {
	t := &g.Tasks[o.Local]
	j := &Job{Call: g.Calls[t.Call], Result: o.Result, Object: o.Off}
	reads := make([]workflow.Located, 0, len(o.Inputs))
	place := map[int]uint32{}
	constants := map[uint32]uint32{}
	at := map[int]int{}
	for i, p := range o.From {
		at[p] = i
	}
	for _, in := range t.Inputs {
		switch {
		case in.OfTask():
			n, known := place[int(in.N)]
			if !known {
				i, given := at[int(in.N)]
				if !given { // a reduce of some of its inputs goes without it
					continue
				}
				n = uint32(len(reads))
				place[int(in.N)] = n
				reads = append(reads, o.Inputs[i])
			}
			in.N = n
		case in.Kind == InputConstant:
			n, known := constants[in.N]
			if !known {
				n = uint32(len(j.Constants))
				constants[in.N] = n
				j.Constants = append(j.Constants, g.Constants[in.N])
			}
			in.N = n
		}
		j.Args = append(j.Args, in)
	}
	fit := func(l *workflow.Located) {
		n := len(l.Output.Bytes)
		if n <= smallInput || l.Made.IsZero() && !l.Off { // what a run that goes back has made again has no row
			return
		}
		if budget -= n; budget >= 0 {
			return
		}
		l.Output.Bytes = nil
		if l.Off {
			l.Output.Recorded = false
		} else {
			l.Row = row(*l)
		}
	}
	for i := range reads {
		fit(&reads[i])
	}
	o.Inputs = reads
	if o.Output != nil {
		l := *o.Output
		fit(&l)
		o.Output = &l
	}
	o.Of = j
	return o
}

// smallInput is the size in bytes of outputs that always go with an order: they have no row of their own.
const smallInput = 256

// marshal returns the job as a graph in which the inputs are tasks.
func (j *Job) marshal(inputs int) ([]byte, error) {
	g := &Graph{Calls: []GraphCall{j.Call}, Constants: j.Constants, Tasks: make([]GraphTask, inputs+1)}
	g.Tasks[inputs].Inputs = j.Args
	return MarshalGraph(g)
}

// unmarshalJob is the inverse of marshal, for an order with so many inputs.
func unmarshalJob(b []byte, inputs int) (*Job, error) {
	g, err := UnmarshalGraph(b)
	if err != nil {
		return nil, err
	}
	if len(g.Tasks) != inputs+1 || len(g.Calls) != 1 {
		return nil, broken("the job is one of %d inputs, and the order has %d", len(g.Tasks)-1, inputs)
	}
	return &Job{Call: g.Calls[0], Constants: g.Constants, Args: g.Tasks[inputs].Inputs}, nil
}
