package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx/group"
)

// Groups are the groups of the cluster.
type Groups struct {
	Groups []group.Status `json:"groups"`
	// Error names members that did not answer: their reports are left out.
	Error string `json:"error,omitempty"`
}

func (s *Server) groups(w http.ResponseWriter, r *http.Request) error {
	const op = "groups"
	q, err := query(r, op, "prefix", "timeout")
	if err != nil {
		return err
	}
	ctx, cancel, err := within(r, op, q.Get("timeout"), s.opts.Deadline)
	if err != nil {
		return err
	}
	defer cancel()
	all, err := s.node.Groups(ctx)
	out := Groups{Groups: []group.Status{}}
	if err != nil {
		if len(all) == 0 {
			return err
		}
		out.Error = err.Error()
	}
	for _, g := range all {
		if strings.HasPrefix(g.Name, q.Get("prefix")) {
			out.Groups = append(out.Groups, g)
		}
	}
	writeJSON(w, http.StatusOK, out)
	return nil
}

// Groups returns the groups whose names begin with prefix.
func (c *Client) Groups(ctx context.Context, prefix string, timeout time.Duration) (g Groups, err error) {
	err = c.get(ctx, request{op: "groups", path: "/v1/groups", query: url.Values{"prefix": {prefix}}}, timeout, &g)
	return g, err
}
