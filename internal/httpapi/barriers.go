package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx/barrier"
)

// Barriers are the partial barriers of the cluster.
type Barriers struct {
	Barriers []barrier.Status `json:"barriers"`
	// Error names members that did not answer: their barriers are left out.
	Error string `json:"error,omitempty"`
}

func (s *Server) barriers(w http.ResponseWriter, r *http.Request) error {
	const op = "barriers"
	q, err := query(r, op, "prefix", "timeout")
	if err != nil {
		return err
	}
	ctx, cancel, err := within(r, op, q.Get("timeout"), s.opts.Deadline)
	if err != nil {
		return err
	}
	defer cancel()
	all, err := s.node.Barriers(ctx)
	out := Barriers{Barriers: []barrier.Status{}}
	if err != nil {
		if len(all) == 0 {
			return err
		}
		out.Error = err.Error()
	}
	for _, b := range all {
		if strings.HasPrefix(b.Name, q.Get("prefix")) {
			out.Barriers = append(out.Barriers, b)
		}
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

// Barriers returns the barriers whose names begin with prefix.
func (c *Client) Barriers(ctx context.Context, prefix string, timeout time.Duration) (b Barriers, err error) {
	err = c.get(ctx, request{op: "barriers", path: "/v1/barriers", query: url.Values{"prefix": {prefix}}}, timeout, &b)
	return b, err
}
