package httpapi

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/workflow"
)

// Workflows are the calls of a node about runs of workflows, as package workflow has them.
type Workflows interface {
	WorkflowStatus(ctx context.Context, id string) (workflow.Status, error)
	// WorkflowList returns at most limit runs, or as many as the cluster lists at once if it is 0, by their ids: those
	// with the prefix, after the id after.
	WorkflowList(ctx context.Context, prefix, after string, limit int) ([]workflow.Listed, error)
	// WorkflowResult waits until a run has ended, and returns the bytes of its result.
	WorkflowResult(ctx context.Context, id string) ([]byte, error)
	WorkflowCancel(ctx context.Context, id, cause string) error
	WorkflowResume(ctx context.Context, id string, options ...workflow.ResumeOption) error
	WorkflowSignal(ctx context.Context, id, name, key string, bytes []byte) error
	WorkflowForget(ctx context.Context, id string) error
	WorkflowHistory(ctx context.Context, id string) iter.Seq2[workflow.Happened, error]
	WorkflowGraph(ctx context.Context, id string) (*workflow.Description, error)
	// WorkflowLedger says which disks hold the runs.
	WorkflowLedger(ctx context.Context) (workflow.LedgerInfo, error)
}

// The JSON of runs.
type (
	// Run is a run of a workflow in a list.
	Run struct {
		ID    string `json:"id"`
		UID   string `json:"uid"`
		State string `json:"state"`         // open, waiting, ending, finished or forgotten
		Why   string `json:"why,omitempty"` // it waits, or has failed
	}

	// RunStatus is how a run stands. The numbers are 0 once it has ended.
	RunStatus struct {
		Run
		Tasks   int      `json:"tasks"`
		Ended   int      `json:"ended"`
		Running int      `json:"running"`
		Ready   int      `json:"ready"`           // they wait for a slot
		Lacks   []string `json:"lacks,omitempty"` // functions that no member offers
		Lost    []string `json:"lost,omitempty"`  // tasks whose outputs are lost for good
	}

	// Runs is a list of runs in the order of their ids.
	Runs struct {
		Workflows []Run `json:"workflows"`
	}

	// CancelRequest has a run go back, and fail with the cause.
	CancelRequest struct {
		Cause   string `json:"cause"`
		Timeout string `json:"timeout,omitempty"`
	}

	// ResumeRequest goes on with a run that is stuck. With has versions of functions, such as pay@2, that take the
	// place of those in the run; with AcceptLoss the run goes on without the outputs that are lost.
	ResumeRequest struct {
		With       []string `json:"with,omitempty"`
		AcceptLoss bool     `json:"accept_loss,omitempty"`
		Timeout    string   `json:"timeout,omitempty"`
	}

	// Signalled answers a signal. A repeat with its key is no other signal.
	Signalled struct {
		ID   string `json:"id"`
		Name string `json:"name"`
		Key  string `json:"key"`
	}
)

func (r *CancelRequest) asks() (string, []phalanx.ObjectID) { return r.Timeout, nil }

func (r *ResumeRequest) asks() (string, []phalanx.ObjectID) { return r.Timeout, nil }

// states are the names of the states of a run.
var states = map[workflow.State]string{workflow.Open: "open", workflow.Waiting: "waiting", workflow.Ending: "ending", workflow.Finished: "finished", workflow.Forgotten: "forgotten"}

// ParseFunction is the inverse of workflow.Function.String, such as pay@2.
func ParseFunction(s string) (workflow.Function, error) {
	name, version, ok := strings.Cut(s, "@")
	n, err := strconv.ParseInt(version, 10, 32)
	if !ok || name == "" || err != nil || n < 0 {
		return workflow.Function{}, invalid("", "", "%q is not a function with its version, such as pay@2", s)
	}
	return workflow.Function{Name: name, Version: int(n)}, nil
}

func functionName(f workflow.Function) string { return fmt.Sprintf("%s@%d", f.Name, f.Version) }

// maxSignal bounds the body of a signal; the cluster refuses less.
const maxSignal = 1 << 20

// workflows adds the handlers of runs. Where the path ends with the prefix the id is empty, which the node refuses.
func (s *Server) workflows(handle func(method, path, op string, h handler)) {
	handle(http.MethodGet, "/v1/workflows", "list", s.workflowList)
	handle(http.MethodGet, "/v1/ledger", "ledger", s.workflowLedger)
	for _, path := range []string{"/v1/workflows/{id}", "/v1/workflows/{$}"} {
		handle(http.MethodGet, path, "status", s.workflowStatus)
		handle(http.MethodDelete, path, "forget", s.workflowForget)
	}
	handle(http.MethodGet, "/v1/workflows/{id}/result", "result", s.workflowResult)
	handle(http.MethodGet, "/v1/workflows/{id}/history", "history", s.workflowHistory)
	handle(http.MethodGet, "/v1/workflows/{id}/graph", "graph", s.workflowGraph)
	handle(http.MethodPost, "/v1/workflows/{id}/cancel", "cancel", s.workflowCancel)
	handle(http.MethodPost, "/v1/workflows/{id}/resume", "resume", s.workflowResume)
	handle(http.MethodPost, "/v1/workflows/{id}/events/{name}", "signal", s.workflowSignal)
}

const workflowsPath = "/v1/workflows/"

// canonicalRun makes the id in the rest of a path one segment, and that of a signal's name as well. An id whose last
// segments are as those of a call must be encoded.
func canonicalRun(rest string) (path, raw string, err error) {
	parts := strings.Split(rest, "/")
	id, tail, name := rest, "", ""
	switch n := len(parts); {
	case n > 2 && parts[n-2] == "events":
		id, tail, name = strings.Join(parts[:n-2], "/"), "/events/", parts[n-1]
	case n > 1 && slices.Contains([]string{"result", "cancel", "resume", "history", "graph"}, parts[n-1]):
		id, tail = strings.Join(parts[:n-1], "/"), "/"+parts[n-1]
	}
	if id, err = url.PathUnescape(id); err == nil {
		name, err = url.PathUnescape(name)
	}
	return workflowsPath + id + tail + name, workflowsPath + escapeID(phalanx.ObjectID(id)) + tail + escapeID(phalanx.ObjectID(name)), err
}

// asked returns the id and the parameters of a question about a run, and its context.
func (s *Server) asked(r *http.Request, op string, allowed ...string) (id string, q url.Values, ctx context.Context, cancel context.CancelFunc, err error) {
	if q, err = query(r, op, append(allowed, "timeout")...); err != nil {
		return "", nil, nil, nil, err
	}
	ctx, cancel, err = within(r, op, q.Get("timeout"), s.opts.Deadline)
	return r.PathValue("id"), q, ctx, cancel, err
}

func (s *Server) workflowList(w http.ResponseWriter, r *http.Request) error {
	const op = "list"
	_, q, ctx, cancel, err := s.asked(r, op, "prefix", "after", "limit")
	if err != nil {
		return err
	}
	defer cancel()
	limit := 0
	if text := q.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 {
			return invalid(op, "", "limit: %q is not a number from 1", text)
		}
	}
	all, err := s.node.WorkflowList(ctx, q.Get("prefix"), q.Get("after"), limit)
	if err != nil {
		return err
	}
	out := Runs{Workflows: []Run{}}
	for _, l := range all {
		out.Workflows = append(out.Workflows, Run{ID: l.ID, UID: l.UID, State: states[l.State], Why: l.Why})
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (s *Server) workflowStatus(w http.ResponseWriter, r *http.Request) error {
	id, _, ctx, cancel, err := s.asked(r, "status")
	if err != nil {
		return err
	}
	defer cancel()
	st, err := s.node.WorkflowStatus(ctx, id)
	if err != nil {
		return advise(err, phalanx.ErrNotFound, ifNoRun)
	}
	out := RunStatus{Run: Run{ID: st.ID, UID: st.UID, State: states[st.State], Why: st.Why}, Tasks: st.Tasks, Ended: st.Ended, Running: st.Running, Ready: st.Ready, Lost: st.Lost}
	for _, f := range st.Lacks {
		out.Lacks = append(out.Lacks, functionName(f))
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (s *Server) workflowForget(w http.ResponseWriter, r *http.Request) error {
	id, _, ctx, cancel, err := s.asked(r, "forget")
	if err != nil {
		return err
	}
	defer cancel()
	return s.done(w, s.node.WorkflowForget(ctx, id))
}

func (s *Server) workflowResult(w http.ResponseWriter, r *http.Request) error {
	id, _, ctx, cancel, err := s.asked(r, "result")
	if err != nil {
		return err
	}
	defer cancel()
	b, err := s.node.WorkflowResult(ctx, id)
	if err != nil {
		return advise(advise(advise(err, phalanx.ErrNotFound, ifNoRun), phalanx.ErrDeadline, ifNotYet), phalanx.ErrDeleted, ifForgot)
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	out := &outlet{w: w, status: http.StatusOK, conn: http.NewResponseController(w), stall: s.opts.Stall}
	defer out.close()
	out.begin()
	if err := out.write(b); err != nil {
		return &cut{err}
	}
	return nil
}

func (s *Server) workflowCancel(w http.ResponseWriter, r *http.Request) error {
	var req CancelRequest
	ctx, cancel, err := s.posted(w, r, "cancel", &req)
	if err != nil {
		return err
	}
	defer cancel()
	return s.done(w, s.node.WorkflowCancel(ctx, r.PathValue("id"), req.Cause))
}

func (s *Server) workflowResume(w http.ResponseWriter, r *http.Request) error {
	const op = "resume"
	var req ResumeRequest
	ctx, cancel, err := s.posted(w, r, op, &req)
	if err != nil {
		return err
	}
	defer cancel()
	var options []workflow.ResumeOption
	for _, text := range req.With {
		f, err := ParseFunction(text)
		if err != nil {
			return invalid(op, phalanx.ObjectID(r.PathValue("id")), "with: %v", typed(err).Err)
		}
		options = append(options, workflow.WithVersions(f))
	}
	if req.AcceptLoss {
		options = append(options, workflow.AcceptLoss())
	}
	return s.done(w, s.node.WorkflowResume(ctx, r.PathValue("id"), options...))
}

func (s *Server) workflowSignal(w http.ResponseWriter, r *http.Request) error {
	const op = "signal"
	id, q, ctx, cancel, err := s.asked(r, op, "key")
	if err != nil {
		return err
	}
	defer cancel()
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSignal))
	if err != nil {
		return invalid(op, phalanx.ObjectID(id), "the body, which is what the signal brings: %v", err)
	}
	out := Signalled{ID: id, Name: r.PathValue("name"), Key: q.Get("key")}
	if out.Key == "" {
		out.Key = rand.Text()
	}
	if err := s.node.WorkflowSignal(ctx, id, out.Name, out.Key, b); err != nil {
		return s.ended(err)
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

// done answers a call without a result.
func (s *Server) done(w http.ResponseWriter, err error) error {
	if err != nil {
		return s.ended(err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// ended returns the error of a change of a run. One that has ended is no fault of the node, which need not be asked again.
func (s *Server) ended(err error) error {
	if errors.Is(err, phalanx.ErrClosed) && s.node.Status().Unready == nil {
		return &refusal{http.StatusConflict, advise(err, phalanx.ErrClosed, ifEnded)}
	}
	return advise(advise(err, phalanx.ErrNotFound, ifNoRun), phalanx.ErrDeleted, ifForgot)
}

// WorkflowList returns runs by their ids: those with the prefix, after the id after; at most limit, or 1,000 if it is 0.
func (c *Client) WorkflowList(ctx context.Context, prefix, after string, limit int, timeout time.Duration) (l Runs, err error) {
	q := url.Values{"prefix": {prefix}, "after": {after}}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	err = c.get(ctx, request{op: "list", path: "/v1/workflows", query: q}, timeout, &l)
	return l, err
}

// runPath is the path of a call about a run.
func runPath(id, tail string) string { return workflowsPath + escapeID(phalanx.ObjectID(id)) + tail }

// WorkflowStatus says how a run stands.
func (c *Client) WorkflowStatus(ctx context.Context, id string, timeout time.Duration) (st RunStatus, err error) {
	err = c.get(ctx, request{op: "status", object: phalanx.ObjectID(id), path: runPath(id, "")}, timeout, &st)
	return st, err
}

// WorkflowResult waits until a run has ended, and returns the bytes of its result.
func (c *Client) WorkflowResult(ctx context.Context, id string, timeout time.Duration) (b []byte, err error) {
	err = c.get(ctx, request{op: "result", object: phalanx.ObjectID(id), path: runPath(id, "/result")}, timeout, &b)
	return b, err
}

// WorkflowCancel has a run go back, and fail with the cause.
func (c *Client) WorkflowCancel(ctx context.Context, id string, r CancelRequest) error {
	return c.change(ctx, "cancel", id, r.Timeout, r)
}

// WorkflowResume goes on with a run that is stuck.
func (c *Client) WorkflowResume(ctx context.Context, id string, r ResumeRequest) error {
	return c.change(ctx, "resume", id, r.Timeout, r)
}

// change does the call op, which is also the end of its path.
func (c *Client) change(ctx context.Context, op, id, within string, body any) error {
	timeout, err := parseTimeout(op, "timeout", within, 0)
	if err != nil {
		return err
	}
	return c.post(ctx, request{op: op, object: phalanx.ObjectID(id), path: runPath(id, "/"+op)}, timeout, body, nil)
}

// WorkflowSignal tells a run of an event. Without a key it has a random one.
func (c *Client) WorkflowSignal(ctx context.Context, id, name, key string, bytes []byte, timeout time.Duration) (s Signalled, err error) {
	q := request{op: "signal", object: phalanx.ObjectID(id), method: http.MethodPost, path: runPath(id, "/events/"+escapeID(phalanx.ObjectID(name))), query: url.Values{},
		header: http.Header{"Content-Type": {"application/octet-stream"}}, body: strings.NewReader(string(bytes)), size: int64(len(bytes))}
	if key != "" {
		q.query.Set("key", key)
	}
	if timeout > 0 {
		q.query.Set("timeout", timeout.String())
	}
	err = c.call(ctx, q, timeout, &s)
	return s, err
}

// WorkflowForget deletes a run that has ended.
func (c *Client) WorkflowForget(ctx context.Context, id string, timeout time.Duration) error {
	q := request{op: "forget", object: phalanx.ObjectID(id), method: http.MethodDelete, path: runPath(id, "")}
	if timeout > 0 {
		q.query = url.Values{"timeout": {timeout.String()}}
	}
	return c.call(ctx, q, timeout, nil)
}
