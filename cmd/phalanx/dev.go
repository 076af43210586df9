package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
)

const (
	devGrace = 5 * time.Second // after which a child that has not ended is killed
	maxDev   = 256
)

// inMemory is a warning to everyone that starts nodes. The documents have it too.
const inMemory = "Objects are in memory only: once all nodes were stopped or killed, everything is gone."

// onDisk says what outlives the nodes. It stands behind inMemory.
const onDisk = "With --dir a node keeps the runs of workflows in a folder: they go on when it starts over it again."

// devSettings are the settings that dev hands on to its children.
var devSettings = []string{"http", "memory", "inline-limit", "shards", "voters", "fanout", "deadline", "pprof", "log-level"}

func (a *app) devCommand() *cobra.Command {
	var count int
	cmd := &cobra.Command{
		Use:     "dev",
		Short:   "Run a cluster of nodes on this machine",
		GroupID: nodes,
		Long: `Dev runs nodes n1, n2 … as processes of their own on loopback, until Ctrl-C, which
ends them all. The first serves HTTP at the default address, so that other
commands find it; the others on free ports. When a node dies, dev reports it, and
the other nodes go on: try kill -9.

` + inMemory + "\n" + onDisk,
		Example: "  phalanx dev --nodes 5\n  phalanx dev --dir cluster\n  phalanx dev --nodes 3 --memory 1GB --log-level warning",
		Args:    cobra.NoArgs,
	}
	cmd.Flags().IntVar(&count, "nodes", 3, "how many nodes")
	settingFlags(cmd.Flags(), devSettings...)
	settingFlags(cmd.Flags(), "dir")
	cmd.Flags().Lookup("dir").Usage = "folder in which each node keeps the runs of workflows, in n1, n2 …; dev makes it (default none: they keep nothing)"
	cmd.Flags().Lookup("memory").Usage = "cap on everything that the store of each node holds, such as 1GB (default its share of three quarters of the machine's, at most a quarter)"
	cmd.RunE = action(func(ctx context.Context, _ []string) error {
		if count < 1 || count > maxDev {
			return invalid("--nodes: %d are not 1 to %d", count, maxDev)
		}
		first, all := handOn(cmd.Flags())
		given, err := a.given()
		if err != nil {
			return err
		}
		dir := find(given, "dir")
		if cmd.Flags().Changed("dir") {
			dir.Value = cmd.Flags().Lookup("dir").Value.String()
		}
		if find(given, "memory").From == "default" && !cmd.Flags().Changed("memory") {
			all = append(all, fmt.Sprint("--memory=", devMemory(cluster.DefaultMemory(), count)))
		}
		return a.dev(ctx, count, dir.Value, first, all)
	})
	return cmd
}

// handOn returns the given settings as flags for children; only the first gets the HTTP
// setting.
func handOn(f *pflag.FlagSet) (first, all []string) {
	for _, key := range devSettings {
		flag := f.Lookup(key)
		switch text := "--" + key + "=" + flag.Value.String(); {
		case !flag.Changed:
		case key == "http":
			first = append(first, text)
		default:
			all = append(all, text)
		}
	}
	return first, all
}

// devMemory is the default cap of each of count nodes, so that together they stay below
// three quarters of the machine's memory. quarter is one quarter of it.
func devMemory(quarter int64, count int) int64 { return min(quarter, 3*quarter/int64(count)) }

// given is what the environment and its file of settings say.
func (a *app) given() ([]choice, error) {
	none := &cobra.Command{}
	configFlags(none)
	return a.load(none.Flags())
}

// fleet is the children.
type fleet struct {
	all []*process
}

// startFleet starts count nodes n1, n2 …, which become one cluster. The first
// has flags of its own. Each has a folder in dir, unless that is "".
func startFleet(ctx context.Context, environ []string, log io.Writer, count int, dir string, firsts, flags []string) (*fleet, error) {
	f := &fleet{all: make([]*process, count)}
	common := append([]string{"--bind=127.0.0.1", "--advertise=127.0.0.1", "--control-port=0", "--data-port=0", "--dir=", "--seeds="}, flags...)
	placed := make([][]string, count)
	from := 0
	if dir == "" {
		first, err := startNode(ctx, environ, log, "n1", slices.Concat(common, firsts)...)
		if err != nil {
			return nil, err
		}
		f.all[0], from = first, 1
		common = append(common, "--seeds="+first.Control)
	} else {
		var err error
		if placed, err = places(count, dir); err != nil {
			return nil, err
		}
	}
	errs := make([]error, count)
	var wg sync.WaitGroup
	for i := from; i < count; i++ {
		own := []string{"--http=127.0.0.1:0"}
		if i == 0 {
			own = firsts
		}
		wg.Go(func() {
			f.all[i], errs[i] = startNode(ctx, environ, log, nodeName(i), slices.Concat(common, own, placed[i])...)
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			f.end()
			return nil, err
		}
	}
	return f, nil
}

func nodeName(i int) string { return fmt.Sprint("n", i+1) }

// mostSeeds bounds how many of the nodes with folders are seeds.
const mostSeeds = 5

// places returns flags for each of count nodes with folders in dir. Such nodes begin together, since no one of them
// may know what all of them have kept: each knows from the start at which ports it finds the others.
func places(count int, dir string) ([][]string, error) {
	var all [][]string
	var seeds []string
	for i := range count {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, &phalanx.Error{Op: "start", Kind: phalanx.ErrUnavailable, Err: err}
		}
		defer l.Close() // no two nodes have the same port
		_, port, _ := net.SplitHostPort(l.Addr().String())
		all = append(all, []string{"--dir=" + filepath.Join(dir, nodeName(i)), "--control-port=" + port})
		if i < mostSeeds {
			seeds = append(seeds, l.Addr().String())
		}
	}
	for i := range all {
		all[i] = append(all[i], "--seeds="+strings.Join(seeds, ","))
	}
	return all, nil
}

// end ends all children and returns when they have ended.
func (f *fleet) end() {
	var wg sync.WaitGroup
	for _, p := range f.all {
		if p != nil {
			wg.Go(func() { p.end(devGrace) })
		}
	}
	wg.Wait()
}

// dev runs count nodes until ctx ends or all have died.
func (a *app) dev(ctx context.Context, count int, dir string, first, flags []string) error {
	log := &lines{w: a.stderr}
	f, err := startFleet(ctx, a.environ, log, count, dir, first, flags)
	if err != nil {
		return err
	}
	defer f.end()
	if err := a.introduce(f.all, dir); err != nil {
		return err
	}
	dead := make(chan *process)
	stop := make(chan struct{})
	defer close(stop)
	for _, p := range f.all {
		go func() {
			<-p.over
			select {
			case dead <- p:
			case <-stop:
			}
		}()
	}
	for alive := count; alive > 0; alive-- {
		select {
		case <-ctx.Done():
			return nil
		case p := <-dead:
			if err := a.obituary(p, alive-1); err != nil {
				return err
			}
		}
	}
	return &phalanx.Error{Op: "dev", Kind: phalanx.ErrUnavailable, Err: fmt.Errorf("all nodes have died")}
}

// child is dev's description of a process.
type child struct {
	ready
	PID int `json:"pid"`
}

func (a *app) introduce(all []*process, dir string) error {
	list := make([]child, len(all))
	for i, p := range all {
		list[i] = child{p.ready, p.PID()}
	}
	return a.print(map[string]any{"event": "ready", "nodes": list}, func(w io.Writer) {
		are := "are"
		if len(all) == 1 {
			are = "is"
		}
		fmt.Fprintf(w, "%s %s ready:\n", counted(len(all), "node"), are)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, c := range list {
			fmt.Fprintf(t, "  %s\tprocess %d\t%s\n", c.Node, c.PID, c.HTTP)
		}
		_ = t.Flush() // to memory
		fmt.Fprintln(w, inMemory)
		if dir != "" {
			fmt.Fprintf(w, "%s keeps the runs of workflows: they go on when dev starts over it again.\n", dir)
		}
		fmt.Fprintln(w, "Try phalanx put FILE ID, phalanx ls, phalanx events in another terminal. Ctrl-C ends all.")
	})
}

func (a *app) obituary(p *process, left int) error {
	return a.print(map[string]any{"event": "died", "node": p.Node, "pid": p.PID(), "cause": p.cause()}, func(w io.Writer) {
		fmt.Fprintf(w, "node %s (process %d) has died: %s; %d of the others still running\n", p.Node, p.PID(), p.cause(), left)
	})
}

// lines lets several writers write to one, each call at a time.
type lines struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}
