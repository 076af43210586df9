package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/bench"
	"github.com/phalanx-go/phalanx/internal/children"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

func (a *app) nodeCommand() *cobra.Command {
	var child bool
	cmd := &cobra.Command{
		Use:     "node",
		Short:   "Run a node",
		GroupID: nodes,
		Long: `Node runs a node until it is interrupted (SIGINT, SIGTERM); then it hands over what
only it has and leaves the cluster. A second signal ends it at once. Without
--seeds it is a cluster of its own, which others can join.

Each setting can be given by a flag, by an environment variable such as
PHALANX_CONTROL_PORT, or in the file of --config (YAML, for example "control-port:
7421"); the first of these counts. phalanx config show tells what results.

Everything listens on loopback unless told otherwise. Another address is refused
without TLS (--tls-cert, --tls-key, --tls-ca), or --insecure on a closed network.`,
		Example: `  phalanx node
  phalanx node --bind 10.0.0.2 --seeds 10.0.0.1:7421 --tls-cert n.pem --tls-key n.key --tls-ca ca.pem
  PHALANX_MEMORY=16GB phalanx node --config phalanx.yaml --http off`,
		Args: cobra.NoArgs,
	}
	configFlags(cmd)
	cmd.Flags().BoolVar(&child, "child", false, "live as package internal/children has it: end, without handing over, when standard input does")
	_ = cmd.Flags().MarkHidden("child") // it was just added
	cmd.RunE = action(func(ctx context.Context, _ []string) error {
		all, err := a.load(cmd.Flags())
		if err != nil {
			return err
		}
		s, err := parse(all)
		if err != nil {
			return err
		}
		if child {
			var end context.CancelFunc
			ctx, end = children.Lifetime(s.leaveTimeout + time.Second)
			defer end()
		}
		return a.node(ctx, s)
	})
	return cmd
}

// ready is what a node prints once it can be used.
type ready struct {
	Node    phalanx.NodeID `json:"node"`
	Control string         `json:"control"`
	Data    string         `json:"data"`
	HTTP    string         `json:"http,omitempty"`
}

// node runs a node until ctx ends.
func (a *app) node(ctx context.Context, s *settings) error {
	l, t, err := listenHTTP(s)
	if err != nil {
		return err
	}
	if l != nil {
		defer l.Close()
	}
	log := logrus.New()
	log.SetOutput(a.stderr)
	log.SetLevel(s.logLevel)
	s.cluster.Logger = log
	s.cluster.Services = []cluster.Service{barrier.Service()}
	s.cluster.Kinds = map[string]func(*cluster.Node) *actor.Props{bench.Kind: bench.Agent}

	joining, cancel := context.WithTimeout(ctx, s.joinTimeout)
	n, err := cluster.Join(joining, s.cluster)
	cancel()
	if err != nil {
		return joinError(s, err)
	}
	r := ready{Node: n.ID(), Control: n.ControlAddr(), Data: n.DataAddr()}
	serving, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	if l != nil {
		r.HTTP = "http://" + l.Addr().String()
		if t != nil {
			r.HTTP = "https://" + l.Addr().String()
		}
		server := httpapi.New(servedNode(n), httpapi.Options{Logger: log, TLS: t, Pprof: s.pprof, Deadline: s.cluster.Deadline})
		go func() { served <- server.Serve(serving, l) }()
	}
	err = a.print(r, func(w io.Writer) {
		fmt.Fprintf(w, "node %s is ready\n  control  %s\n  data     %s\n", r.Node, r.Control, r.Data)
		if r.HTTP != "" {
			fmt.Fprintf(w, "  http     %s\n", r.HTTP)
		}
	})
	if err == nil {
		select {
		case <-ctx.Done():
		case err = <-served:
			l = nil
		}
	}
	stop()
	if l != nil {
		err = errors.Join(err, <-served)
	}
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.leaveTimeout)
	defer cancel()
	if errors.Is(context.Cause(ctx), children.ErrOrphan) {
		cancel()
		_ = n.Leave(leaving) // says only that nothing was handed over
		return err
	}
	return errors.Join(err, n.Leave(leaving))
}

func servedNode(n *cluster.Node) httpapi.Node { return served{n} }

// joinError says what to do about a Join that failed.
func joinError(s *settings, err error) error {
	var e *phalanx.Error
	if !errors.As(err, &e) {
		return err
	}
	out := *e
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		out.Err = fmt.Errorf("%w: give other ports with --control-port and --data-port, 0 for free ones", e.Err)
	case errors.Is(err, phalanx.ErrDeadline) && len(s.cluster.Seeds) > 0:
		out.Err = fmt.Errorf("%w: is a node running at one of --seeds %v?", e.Err, s.cluster.Seeds)
	}
	return &out
}
