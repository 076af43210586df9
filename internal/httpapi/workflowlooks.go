package httpapi

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/workflow"
)

// History is what has happened in a run, as far as it is recorded, in order.
type History struct {
	History []workflow.Happened `json:"history"`
	Next    uint64              `json:"next,omitempty"` // give it as after, for what comes behind; 0: there is nothing yet
}

// mostHistory is how many elements an answer has, and some more if they were made durable together.
const mostHistory = 1000

func (s *Server) workflowHistory(w http.ResponseWriter, r *http.Request) error {
	const op = "history"
	id, q, ctx, cancel, err := s.asked(r, op, "after", "limit")
	if err != nil {
		return err
	}
	defer cancel()
	after, limit := uint64(0), mostHistory
	if text := q.Get("after"); text != "" {
		if after, err = strconv.ParseUint(text, 10, 64); err != nil {
			return invalid(op, phalanx.ObjectID(id), "after: %q is not the number of an element, or 0", text)
		}
	}
	if text := q.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 {
			return invalid(op, phalanx.ObjectID(id), "limit: %q is not a number from 1", text)
		}
		limit = min(limit, mostHistory)
	}
	out := History{History: []workflow.Happened{}}
	for h, err := range s.node.WorkflowHistory(ctx, id) {
		if err != nil {
			return advise(err, phalanx.ErrNotFound, ifNoRun)
		}
		if n := len(out.History); n >= limit && h.Number > out.History[n-1].Number {
			out.Next = out.History[n-1].Number
			break
		}
		if h.Number > after {
			out.History = append(out.History, h)
		}
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (s *Server) workflowGraph(w http.ResponseWriter, r *http.Request) error {
	const op = "graph"
	id, q, ctx, cancel, err := s.asked(r, op, "format")
	if err != nil {
		return err
	}
	defer cancel()
	format := q.Get("format")
	if format != "" && format != "json" && format != "dot" {
		return invalid(op, phalanx.ObjectID(id), "format: %q is neither json nor dot", format)
	}
	d, err := s.node.WorkflowGraph(ctx, id)
	if err != nil {
		return advise(err, phalanx.ErrNotFound, ifNoRun)
	}
	if format == "dot" {
		w.Header().Set("Content-Type", "text/vnd.graphviz; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, err := io.WriteString(w, d.DOT())
		if err != nil {
			return &cut{err}
		}
		return nil
	}
	writeJSON(w, http.StatusOK, d)
	return nil
}

// WorkflowHistory returns what has happened in a run behind the number after; at most limit, or 1,000 if it is 0.
func (c *Client) WorkflowHistory(ctx context.Context, id string, after uint64, limit int, timeout time.Duration) (h History, err error) {
	q := url.Values{}
	if after > 0 {
		q.Set("after", strconv.FormatUint(after, 10))
	}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	err = c.get(ctx, request{op: "history", object: phalanx.ObjectID(id), path: runPath(id, "/history"), query: q}, timeout, &h)
	return h, err
}

// WorkflowGraph describes a run with how its tasks stand.
func (c *Client) WorkflowGraph(ctx context.Context, id string, timeout time.Duration) (d workflow.Description, err error) {
	err = c.get(ctx, request{op: "graph", object: phalanx.ObjectID(id), path: runPath(id, "/graph")}, timeout, &d)
	return d, err
}
