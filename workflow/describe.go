package workflow

import (
	"fmt"
	"strings"

	"github.com/phalanx-go/phalanx/messages"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// Description is a workflow for people: as a picture (DOT), or encoded as JSON.
type Description struct {
	Tasks   []TaskDescription `json:"tasks"`             // each after those that it reads or follows
	Refused string            `json:"refused,omitempty"` // why Check refuses the workflow; "": it does not
}

// TaskDescription describes one task of a workflow. Others are named by their index.
type TaskDescription struct {
	Name          string   `json:"name"` // in the workflow
	Runs          string   `json:"runs"` // name@version of the function, or what else it does
	Deterministic bool     `json:"deterministic,omitempty"`
	Checkpoint    string   `json:"checkpoint,omitempty"` // async, sync or off
	Effect        string   `json:"effect,omitempty"`     // idempotent, none or undo
	Compensates   bool     `json:"compensates,omitempty"`
	Reads         []int    `json:"reads,omitempty"`
	Needs         int      `json:"needs,omitempty"`    // so many of Reads have to end before it begins; 0: all of them
	ReadOnly      []int    `json:"readOnly,omitempty"` // of Reads: their actors are only read
	Catches       []int    `json:"catches,omitempty"`  // of Reads: their errors are caught
	After         []int    `json:"after,omitempty"`
	Waits         []int    `json:"waits,omitempty"`   // they have to be saved before it begins
	Expands       bool     `json:"expands,omitempty"` // it returns a workflow: more tasks come once it has run
	Options       []string `json:"options,omitempty"` // timeouts, limits and the like

	// Of a run that has begun:
	State    string `json:"state,omitempty"`    // how the task stands, such as "running" or "saved"
	Attempts int    `json:"attempts,omitempty"` // that have begun
	Node     string `json:"node,omitempty"`     // which runs an attempt of it
	Why      string `json:"why,omitempty"`      // its last attempt has failed, its error was caught, or it has too few inputs yet
	Of       *int   `json:"of,omitempty"`       // the task that has returned the workflow that it is of
}

// Describe returns the description of a workflow, also of one that Check refuses. It fails with phalanx.ErrInvalid if the workflow cannot
// be recorded. Tasks that are only named are looked up in registries.
func Describe(root AnyStep, tasks ...*Registry) (*Description, error) {
	g, err := recorded(root.node(), merged(tasks))
	if err != nil {
		return nil, err
	}
	d := describe(g)
	graph, err := lower(g)
	if err != nil {
		d.Refused = err.Error()
		return d, nil
	}
	e, err := core.Check(graph)
	if err != nil {
		d.Refused = err.Error()
		return d, nil
	}
	for v := range d.Tasks {
		d.Tasks[v].Waits = append(d.Tasks[v].Waits, e.Waits(v)...)
	}
	return d, nil
}

func describe(g *messages.Graph) *Description {
	d := &Description{Tasks: make([]TaskDescription, len(g.Tasks))}
	for v, name := range g.Names() {
		from, c := &g.Tasks[v], &g.Calls[g.Tasks[v].Call]
		t := TaskDescription{Name: name, Runs: c.String(), Deterministic: c.Deterministic, Compensates: c.Compensates, Expands: c.Expands, Options: optionsOf(c)}
		if c.Kind == messages.CallFunction || c.Kind == messages.CallReduce || c.Kind == messages.CallKeep {
			t.Checkpoint = [...]string{core.Async: "async", core.Sync: "sync", core.Off: "off"}[c.Checkpoint]
			t.Effect = [...]string{core.Idempotent: "idempotent", core.None: "none", core.Undo: "undo"}[c.Effect]
		}
		read := map[int]bool{}
		for _, in := range from.Inputs {
			n := int(in.N)
			if !in.OfTask() || read[n] {
				continue
			}
			read[n] = true
			t.Reads = append(t.Reads, n)
			switch in.Kind {
			case messages.InputRead:
				t.ReadOnly = append(t.ReadOnly, n)
			case messages.InputCaught:
				t.Catches = append(t.Catches, n)
			}
		}
		for _, p := range from.After {
			t.After = append(t.After, int(p))
		}
		if t.Needs = g.Needs(v); t.Needs > 0 {
			t.Options = append([]string{fmt.Sprintf("needs %d of %d inputs", t.Needs, len(t.Reads))}, t.Options...)
		}
		d.Tasks[v] = t
	}
	return d
}

func optionsOf(c *messages.GraphCall) (all []string) {
	if c.Timeout > 0 {
		all = append(all, fmt.Sprintf("timeout %v", c.Timeout))
	}
	if c.Heartbeat > 0 {
		all = append(all, fmt.Sprintf("heartbeat %v", c.Heartbeat))
	}
	if c.Limit != "" {
		all = append(all, fmt.Sprintf("limit %s %d", c.Limit, c.LimitMost))
	}
	if c.Retries > 0 {
		all = append(all, fmt.Sprintf("retry %d", c.Retries-1))
	}
	if c.Snapshot {
		all = append(all, "snapshot")
	}
	return all
}

// DOT returns the workflow in the language of Graphviz. An effect that nothing takes back has a double border, one with an undo
// bold; without a checkpoint the border is dashed. Tasks to come are a cloud of dots. What a task waits for is a
// dotted edge. Of a run, a task that goes on is blue, one that has ended green, one with a failure orange, and one that was taken back
// gray.
func (d *Description) DOT() string {
	var b strings.Builder
	b.WriteString("digraph workflow {\n  rankdir=LR;\n  node [shape=box];\n")
	returned := map[int]bool{}
	for _, t := range d.Tasks {
		if t.Of != nil {
			returned[*t.Of] = true
		}
	}
	for v, t := range d.Tasks {
		fmt.Fprintf(&b, "  t%d [label=%s%s];\n", v, quote(t.label()), t.style())
		if t.Expands && !returned[v] {
			fmt.Fprintf(&b, "  more%d [label=\"…\", shape=plaintext];\n  t%d -> more%d [style=dashed];\n", v, v, v)
		}
	}
	for v, t := range d.Tasks {
		if t.Of != nil && len(t.Reads)+len(t.After) == 0 {
			fmt.Fprintf(&b, "  t%d -> t%d [style=dashed, label=\"returns\"];\n", *t.Of, v)
		}
		for _, p := range t.Reads {
			fmt.Fprintf(&b, "  t%d -> t%d%s;\n", p, v, t.edge(p))
		}
		for _, p := range t.After {
			fmt.Fprintf(&b, "  t%d -> t%d [style=dashed];\n", p, v)
		}
		for _, p := range t.Waits {
			fmt.Fprintf(&b, "  t%d -> t%d [style=dotted, constraint=false, label=\"saved\"];\n", p, v)
		}
	}
	b.WriteString("}\n")
	return b.String()
}

func (t *TaskDescription) label() string {
	lines := []string{t.Name}
	if !strings.HasPrefix(t.Runs, t.Name+"@") {
		lines = append(lines, t.Runs)
	}
	if t.Deterministic {
		lines = append(lines, "deterministic")
	}
	if t.Compensates {
		lines = append(lines, "compensates")
	}
	lines = append(lines, t.Options...)
	if t.State != "" {
		lines = append(lines, t.State)
	}
	return strings.Join(lines, "\n")
}

func (t *TaskDescription) style() string {
	text := ""
	switch t.Effect {
	case "idempotent":
		text += ", peripheries=2"
	case "undo":
		text += ", penwidth=2"
	}
	var styles []string
	if t.Checkpoint == "off" {
		styles = append(styles, "dashed")
	}
	if color := t.color(); color != "" {
		text += ", fillcolor=" + color
		styles = append(styles, "filled")
	}
	if len(styles) > 0 {
		text += ", style=" + quoteIf(len(styles) > 1, strings.Join(styles, ","))
	}
	return text
}

// color says how a task of a run stands; "": it is no task of a run, or has not begun.
func (t *TaskDescription) color() string {
	switch t.State {
	case "", "to come", "not begun":
		return ""
	case "saved", "ended", "expanded":
		return "palegreen"
	case "failed, comes again", "stuck", "caught", "again", "effect stays":
		return "lightsalmon"
	case "undone", "compensated", "stopped":
		return "lightgray"
	}
	return "lightskyblue"
}

func quoteIf(needs bool, s string) string {
	if needs {
		return quote(s)
	}
	return s
}

// edge returns the attributes of the edge from a task that t reads.
func (t *TaskDescription) edge(p int) string {
	for _, v := range t.ReadOnly {
		if v == p {
			return ` [label="read"]`
		}
	}
	for _, v := range t.Catches {
		if v == p {
			return ` [label="catch"]`
		}
	}
	return ""
}

// quote returns a text as a string of DOT.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", " ").Replace(s) + `"`
}
