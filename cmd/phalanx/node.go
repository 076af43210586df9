package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
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
	"github.com/phalanx-go/phalanx/workflow"
)

func (a *app) nodeCommand() *cobra.Command {
	var child bool
	cmd := &cobra.Command{
		Use:     "node",
		Short:   "Run a node",
		GroupID: nodes,
		Long: `Node runs a node until it is interrupted (SIGINT, SIGTERM); then it hands over the
objects that only it has, and leaves the cluster. If it cannot within --leave-timeout,
since other nodes have no memory for example, it prints what remains, goes on serving
other nodes, and tries again. If all nodes are asked to end, or the others are gone, it
ends soon, and its log has the number of the objects that are lost, and names ten of
them. A second signal ends it at once; objects that only it has are lost then.

Give all nodes one set of --seeds: the control addresses of one, three or five of them,
which may name the node itself. The seeds begin the cluster once most of them run; a
node that starts again rejoins it, the first one too. If most voters were killed, the
other nodes wait for "phalanx recover". Without --seeds a node on loopback
is a cluster of its own, which others can join; elsewhere that needs --alone.

Give each setting by a flag, by an environment variable such as
PHALANX_CONTROL_PORT, or in the file of --config (YAML, for example "control-port:
7421"); the first of these counts. phalanx config show prints the result.

The node listens on loopback by default. Another address needs TLS (--tls-cert,
--tls-key, --tls-ca), or --insecure on a closed network.

` + inMemory + "\n" + onDisk,
		Example: `  phalanx node
  phalanx node --dir /var/lib/phalanx
  phalanx node --bind 10.0.0.2 --seeds 10.0.0.1:7421,10.0.0.2:7421,10.0.0.3:7421 --tls-cert n.pem --tls-key n.key --tls-ca ca.pem
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

// ready is the output of a node once it can be used.
type ready struct {
	Node    phalanx.NodeID `json:"node"`
	Control string         `json:"control"`
	Data    string         `json:"data"`
	HTTP    string         `json:"http,omitempty"`
}

// node runs a node until ctx ends.
func (a *app) node(ctx context.Context, s *settings) error {
	log := logrus.New()
	log.SetOutput(a.stderr)
	log.SetLevel(s.logLevel)
	runs, err := workflow.Settings{Dir: s.dir, Log: log}.Open()
	if err != nil {
		return configError("dir: %w", err)
	}
	l, t, err := listenHTTP(s)
	if err != nil {
		return err
	}
	s.cluster.Logger = log
	s.cluster.Services = []cluster.Service{barrier.Service(), runs}
	s.cluster.Kinds = map[string]func(*cluster.Node) *actor.Props{bench.Kind: bench.Agent}

	var waits atomic.Value // string
	waits.Store("the node starts")
	s.cluster.Waits = func(what string) { waits.Store(what) }
	options := httpapi.Options{Logger: log, TLS: t, Pprof: s.pprof, Deadline: s.cluster.Deadline}
	front := httpapi.NewFront(func() error { return errors.New(waits.Load().(string)) }, options)
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	if l != nil {
		go func() { served <- front.Serve(serving, l) }()
	}
	finish := func() error { // of HTTP
		if stop(); l != nil {
			return <-served
		}
		return nil
	}

	joining, cancel := context.WithTimeout(ctx, s.joinTimeout)
	n, err := join(joining, s.cluster)
	cancel()
	if err != nil {
		return errors.Join(joinError(s, err), finish())
	}
	left := sync.OnceValue(func() error {
		if errors.Is(context.Cause(ctx), children.ErrOrphan) {
			n.Close() // there is no node to hand over to
			return nil
		}
		return leave(n, s.leaveTimeout, log)
	})
	front.Open(httpapi.New(servedNode(n), options), func() { _ = left() })
	r := ready{Node: n.ID(), Control: n.ControlAddr(), Data: n.DataAddr()}
	switch {
	case l == nil:
	case t != nil:
		r.HTTP = "https://" + l.Addr().String()
	default:
		r.HTTP = "http://" + l.Addr().String()
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
		case <-n.Done(): // another process has its name
			err = n.Err()
		case err = <-served:
			l = nil
		}
	}
	return errors.Join(err, finish(), left())
}

// leaver is the part of a cluster.Node that leaves.
type leaver interface {
	ID() phalanx.NodeID
	Status() cluster.Status
	Leave(ctx context.Context) error
	Done() <-chan struct{}
	Close()
}

var _ leaver = (*cluster.Node)(nil)

// leave has a node leave. While it cannot, it is a member, since the data that only it has
// would be lost with it. It tries again until it has left; a second signal ends the process.
// A node that the others have removed before it is to leave, and that has not joined again in time,
// ends: it serves no node.
func leave(n leaver, each time.Duration, log logrus.FieldLogger) error {
	for {
		was, why := n.ID(), n.Status().Unready
		removed := why != nil && errors.Is(why, phalanx.ErrFenced)
		ctx, cancel := context.WithTimeout(context.Background(), each)
		err := n.Leave(ctx)
		stranded := err != nil && errors.Is(err, phalanx.ErrFenced) && !rejoined(ctx, n, was) && removed
		cancel()
		if stranded {
			n.Close()
			return err
		}
		select {
		case <-n.Done():
			return err
		default:
		}
		log.WithError(err).Error("the node has not left; it tries again until it has, or is interrupted once more")
	}
}

// rejoined waits until a node that was removed has joined again, and reports whether it has.
func rejoined(ctx context.Context, n leaver, was phalanx.NodeID) bool {
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for n.ID() == was {
		select {
		case <-again.C:
		case <-n.Done():
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}

func servedNode(n *cluster.Node) httpapi.Node { return served{n} }

// joinError advises the operator after a Join that failed.
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
		out.Err = fmt.Errorf("%w: is a node running at one of --seeds %v? They name control addresses (--control-port, 7421 unless told otherwise)", e.Err, s.cluster.Seeds)
	}
	return &out
}
