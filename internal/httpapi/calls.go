package httpapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/storenode"
)

func (s *Server) delete(w http.ResponseWriter, r *http.Request) error {
	const op = "delete"
	q, err := query(r, op, "timeout")
	if err != nil {
		return err
	}
	id, err := pathID(r, op)
	if err != nil {
		return err
	}
	ctx, cancel, err := within(r, op, q.Get("timeout"), s.opts.Deadline)
	if err != nil {
		return err
	}
	defer cancel()
	if err := s.node.Delete(ctx, id); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) list(w http.ResponseWriter, r *http.Request) error {
	const op = "list"
	q, err := query(r, op, "prefix", "timeout")
	if err != nil {
		return err
	}
	ctx, cancel, err := within(r, op, q.Get("timeout"), s.opts.Deadline)
	if err != nil {
		return err
	}
	defer cancel()
	all, err := s.node.List(ctx, q.Get("prefix"))
	if err != nil {
		return err
	}
	out := List{Objects: make([]Object, 0, len(all))}
	for _, st := range all {
		out.Objects = append(out.Objects, objectOf(st))
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

func (s *Server) tree(w http.ResponseWriter, r *http.Request) error {
	const op = "tree"
	q, err := query(r, op, "timeout")
	if err != nil {
		return err
	}
	id, err := pathID(r, op)
	if err != nil {
		return err
	}
	ctx, cancel, err := within(r, op, q.Get("timeout"), s.opts.Deadline)
	if err != nil {
		return err
	}
	defer cancel()
	t, err := s.node.Tree(ctx, id)
	if err != nil {
		return err
	}
	t.Nodes, t.Edges = append([]TreeNode{}, t.Nodes...), append([]TreeEdge{}, t.Edges...) // [] and not null
	writeJSON(w, http.StatusOK, t)
	return nil
}

// posted reads the body of a call into req, and returns the context that it asks
// for.
func (s *Server) posted(w http.ResponseWriter, r *http.Request, op string, req interface {
	asks() (timeout string, objects []phalanx.ObjectID)
}) (context.Context, context.CancelFunc, error) {
	if _, err := query(r, op); err != nil {
		return nil, nil, err
	}
	if err := readJSON(w, r, op, req); err != nil {
		return nil, nil, err
	}
	timeout, objects := req.asks()
	for _, id := range objects {
		if err := validID(op, id); err != nil {
			return nil, nil, err
		}
	}
	return within(r, op, timeout, s.opts.Deadline)
}

func (s *Server) reduce(w http.ResponseWriter, r *http.Request) error {
	return s.combine(w, r, "reduce", s.node.Reduce)
}

func (s *Server) allReduce(w http.ResponseWriter, r *http.Request) error {
	return s.combine(w, r, "allreduce", s.node.AllReduce)
}

func (s *Server) combine(w http.ResponseWriter, r *http.Request, op string, call func(context.Context, storenode.Reduce) (storenode.ReduceResult, error)) error {
	var req ReduceRequest
	ctx, cancel, err := s.posted(w, r, op, &req)
	if err != nil {
		return err
	}
	defer cancel()
	deadline, _ := ctx.Deadline()
	res, err := call(ctx, storenode.Reduce{Target: req.Target, Sources: req.Sources, Op: req.Op, Num: req.Num, Degree: req.Degree, Deadline: time.Until(deadline)})
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, resultOf(res))
	return nil
}

func (s *Server) gather(w http.ResponseWriter, r *http.Request) error {
	const op = "gather"
	var req GatherRequest
	ctx, cancel, err := s.posted(w, r, op, &req)
	if err != nil {
		return err
	}
	defer cancel()
	in, out, err := s.node.Gather(ctx, req.Sources, req.Num)
	if err != nil {
		return err
	}
	res := GatherResult{In: []Info{}, Out: append([]phalanx.ObjectID{}, out...)}
	for _, i := range in {
		res.In = append(res.In, infoOf(i))
	}
	writeJSON(w, http.StatusOK, res)
	return nil
}

func (s *Server) bench(w http.ResponseWriter, r *http.Request) error {
	const op = "bench"
	req := BenchRequest{Runs: 5}
	ctx, cancel, err := s.posted(w, r, op, &req)
	if err != nil {
		return err
	}
	defer cancel()
	res, err := s.node.Bench(ctx, req)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, res)
	return nil
}

func (s *Server) prefetch(w http.ResponseWriter, r *http.Request) error {
	const op = "prefetch"
	var req PrefetchRequest
	ctx, cancel, err := s.posted(w, r, op, &req)
	if err != nil {
		return err
	}
	defer cancel()
	nodes, err := s.members(req.Nodes)
	if err != nil {
		return err
	}
	if err := s.node.Prefetch(ctx, req.ID, nodes...); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, PrefetchRequest{ID: req.ID, Nodes: nodes})
	return nil
}

func (s *Server) recover(w http.ResponseWriter, r *http.Request) error {
	const op = "recover"
	var req RecoverRequest
	ctx, cancel, err := s.posted(w, r, op, &req)
	if err != nil {
		return err
	}
	defer cancel()
	res, err := s.node.Recover(ctx, req.Force)
	if errors.Is(err, phalanx.ErrRefused) {
		return &refusal{http.StatusConflict, err} // of the cluster as it is, no peer has failed
	}
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, res)
	return nil
}

// members returns the members that are called names: a name without an
// incarnation means the living one. No names are all members.
func (s *Server) members(names []phalanx.NodeID) ([]phalanx.NodeID, error) {
	all := s.node.Status().Members
	var found []phalanx.NodeID
	if len(names) == 0 {
		for _, m := range all {
			found = append(found, m.Node)
		}
		return found, nil
	}
	for _, name := range names {
		i := slices.IndexFunc(all, func(m Member) bool { return m.Node == name || m.Node.Name() == string(name) })
		if i < 0 {
			return nil, &phalanx.Error{Op: "prefetch", Node: name, Kind: phalanx.ErrInvalid, Err: errors.New("the node is not a member of the cluster")}
		}
		found = append(found, all[i].Node)
	}
	return found, nil
}

func (s *Server) status(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r, "status"); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, s.node.Status())
	return nil
}

// livez says that the process answers.
func (s *Server) livez(w http.ResponseWriter, r *http.Request) error {
	_, _ = w.Write([]byte("ok\n"))
	return nil
}

// readyz says whether the node is a member that can be given work.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) error {
	select {
	case <-s.closing:
		return &phalanx.Error{Node: s.node.ID(), Kind: phalanx.ErrClosed, Err: errors.New("the node is about to end")}
	default:
	}
	if why := s.node.Status().Unready; why != nil {
		return why.Err()
	}
	_, _ = w.Write([]byte("ok\n"))
	return nil
}
