package workflow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/messages"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// story is what is recorded of a run, as far as it was read.
type story struct {
	node *cluster.Node
	op   string
	id   string
	uid  core.UID

	names    []string          // of tasks, by number
	tasks    []TaskDescription // likewise: what they name are numbers
	progress *core.Progress
}

// storyOf reads the workflow of a run, of which nothing has happened yet.
func storyOf(ctx context.Context, n *cluster.Node, op, id string) (*story, error) {
	s := &story{node: n, op: op, id: id}
	var form bytes.Buffer
	err := s.rows(ctx, false, func(r core.Recorded) error {
		v, err := messages.UnmarshalRow(r.Bytes, 0)
		if err != nil {
			return err
		}
		p, is := v.(core.Part)
		if !is {
			return fmt.Errorf("a part of the workflow is a %T", v)
		}
		form.Write(p.Bytes)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if form.Len() == 0 {
		return nil, failure(op, id, phalanx.ErrDeleted, errors.New("the run was just forgotten"))
	}
	g, err := messages.UnmarshalGraph(form.Bytes())
	if err != nil {
		return nil, s.unreadable(err)
	}
	s.progress = core.NewProgress(len(g.Tasks))
	s.add(g, 0, nil)
	if graph, err := lower(g); err == nil {
		if e, err := core.Check(graph); err == nil {
			for v := range s.tasks {
				s.tasks[v].Waits = e.Waits(v)
			}
		}
	}
	return s, nil
}

// rows calls f with the rows of the run's workflow, or with those of its log.
func (s *story) rows(ctx context.Context, log bool, f func(core.Recorded) error) error {
	for from, more := uint64(0), true; more; {
		a, err := call(ctx, s.node, s.op, s.id, &asked{call: core.ReadRun{ID: s.id, Log: log, From: from}})
		switch {
		case err != nil:
			return err
		case a.Page == nil:
			return failure(s.op, s.id, phalanx.ErrInternal, errors.New("the controller has answered without a page"))
		case !s.uid.IsZero() && a.Run != s.uid:
			return failure(s.op, s.id, phalanx.ErrDeleted, errors.New("the run was forgotten, and another one has its id"))
		}
		s.uid = a.Run
		for _, r := range a.Page.Rows {
			if err := f(r); err != nil {
				return s.unreadable(err)
			}
		}
		more = a.Page.Next > from
		from = a.Page.Next
	}
	return nil
}

// stopped ends the reading of a story.
var errStopped = errors.New("nobody reads on")

// unreadable returns the error of a row that this node cannot read.
func (s *story) unreadable(err error) error {
	var e *phalanx.Error
	switch {
	case errors.Is(err, errStopped):
		return err
	case errors.As(err, &e) && e.Kind == phalanx.ErrRefused:
		return failure(s.op, s.id, phalanx.ErrRefused, fmt.Errorf("a later version of Phalanx has written it, ask a node of that: %w", e.Err))
	}
	return failure(s.op, s.id, phalanx.ErrInternal, err)
}

// told is records that became durable at once.
type told struct {
	number  uint64
	epoch   uint64
	at      time.Duration
	records []core.Record
}

// read calls f with what has happened, in order. It has taken it before, so that tasks have names.
func (s *story) read(ctx context.Context, f func(told) error) error {
	var t told
	more := false
	return s.rows(ctx, true, func(r core.Recorded) error {
		v, err := messages.UnmarshalRow(r.Bytes, core.MaxTasks)
		if err != nil {
			return err
		}
		b, is := v.(core.Batch)
		if !is {
			return fmt.Errorf("row %d of its log is a %T", r.Number, v)
		}
		if !more || b.Epoch != t.epoch { // the rest of what comes before was never written
			t = told{number: r.Number, epoch: b.Epoch, at: b.At}
		}
		t.records = append(t.records, b.Records...)
		if more = b.More; more {
			return nil
		}
		t.records = core.Whole(t.records)
		for i, rec := range t.records {
			if e, is := rec.(core.Expanded); is {
				if rec, err = s.expanded(e); err != nil {
					return err
				}
				t.records[i] = rec
			}
			s.progress.Take(rec)
		}
		return f(t)
	})
}

// expanded adds the graph that a task has returned.
func (s *story) expanded(e core.Expanded) (core.Record, error) {
	w, _ := e.Work.(*core.Work)
	if w == nil {
		return nil, fmt.Errorf("the graph that task %d has returned is not recorded", e.Task)
	}
	g, err := messages.UnmarshalGraph(bytes.Join(w.Parts, nil))
	if err != nil {
		return nil, err
	}
	if e.Task >= len(s.tasks) || e.First+len(g.Tasks) > core.MaxTasks {
		return nil, fmt.Errorf("task %d, which no graph has, has returned one", e.Task)
	}
	s.add(g, e.First, &e.Task)
	e.Graph = &core.Graph{Tasks: make([]core.Task, len(g.Tasks))} // Progress counts them only
	return e, nil
}

// add adds the tasks of a graph under the numbers from first on.
func (s *story) add(g *messages.Graph, first int, of *int) {
	for more := first + len(g.Tasks) - len(s.tasks); more > 0; more-- {
		s.tasks, s.names = append(s.tasks, TaskDescription{}), append(s.names, "")
	}
	for v, t := range describe(g).Tasks {
		for _, list := range [][]int{t.Reads, t.ReadOnly, t.Catches, t.After} {
			for i := range list {
				list[i] += first
			}
		}
		if t.Of = of; of != nil {
			t.Name = s.names[*of] + "/" + t.Name
		}
		s.tasks[first+v], s.names[first+v] = t, t.Name
	}
}

// name returns the name of a task.
func (s *story) name(v int) string {
	if v < 0 || v >= len(s.names) {
		return fmt.Sprintf("task %d", v)
	}
	return s.names[v]
}
