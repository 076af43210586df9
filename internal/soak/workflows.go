package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/bed"
	"github.com/phalanx-go/phalanx/internal/hashdag"
	"github.com/phalanx-go/phalanx/internal/reservation"
	"github.com/phalanx-go/phalanx/internal/steal"
)

// WorkflowConfig has the settings of a run of RunWorkflows.
type WorkflowConfig struct {
	Nodes   int // at least MinWorkflowNodes
	For     time.Duration
	Seed    uint64   // of all choices; their results depend on the times, too
	Faults  []string // kinds that happen; nil: all of WorkflowFaults that can
	Command func(WorkflowNode) *exec.Cmd
	Report  func(WorkflowProgress) // called every ReportEvery, and once at the end; may be nil
	Log     func(string)           // called for each fault; may be nil
}

// MinWorkflowNodes nodes can lose one disk while the ledger stays on three.
const MinWorkflowNodes = diskNodes

const (
	diskNodes   = 4 // of the nodes have folders: the ledger is on three
	hashers     = 3 // clients that start runs of hashes
	bookers     = 3 // clients that book trips
	players     = 2 // clients that start medleys
	dagTasks    = 100
	tripsOfEach = 4 // hotels, flights and cars
	seatsOfEach = 40
)

// workflows is one run.
type workflows struct {
	*driving
	cfg     WorkflowConfig
	dir     string
	world   hashdag.Outside
	bed     *bed.Bed // nil: the processes are on loopback
	hosts   []*host
	kinds   []string        // of faults, that happen
	lost    map[string]bool // disks that were emptied
	version int             // of the task that hashes, of runs that begin
	runs    int             // that have begun
	age     int             // of the next trip
	checks  []done          // of this round
	told    map[string]reservation.Booking
	store   *reservation.Store // of this round
	first   map[*process]Figures
	res     WorkflowResult // mu guards it, and version, runs, age, checks and told
}

// RunWorkflows soaks workflows: programs run again and again while their nodes are hit. It returns an error if it could
// not go on; WorkflowResult.Wrong has the cluster's mistakes.
func RunWorkflows(ctx context.Context, cfg WorkflowConfig) (res WorkflowResult, err error) {
	if cfg.Nodes < MinWorkflowNodes {
		return res, &phalanx.Error{Op: "soak", Kind: phalanx.ErrInvalid, Err: fmt.Errorf("%d nodes are fewer than %d", cfg.Nodes, MinWorkflowNodes)}
	}
	for _, kind := range cfg.Faults {
		if !slices.Contains(WorkflowFaults, kind) {
			return res, &phalanx.Error{Op: "soak", Kind: phalanx.ErrInvalid, Err: fmt.Errorf("there is no fault %q: %s", kind, strings.Join(WorkflowFaults, ", "))}
		}
	}
	w := &workflows{driving: newDriving(ctx, cfg.Log), cfg: cfg, told: map[string]reservation.Booking{}, first: map[*process]Figures{}, lost: map[string]bool{}, version: 1}
	w.res = WorkflowResult{Nodes: cfg.Nodes, Seed: cfg.Seed, Runs: map[string]int{}, Faults: map[string]int{}, Errors: map[string]int{}, Slowest: map[string]float64{}}
	defer w.cancel()
	stolen := steal.Total()
	close, err := w.open()
	defer func() { err = errors.Join(err, close()) }()
	if err != nil {
		return res, err
	}
	reporting := func() {}
	if cfg.Report != nil {
		reporting = often(func() { cfg.Report(w.progress()) })
	}
	err = w.run()
	if w.broken() || err != nil {
		w.res.Events = w.accounts(w.processes())
	}
	w.cancel()
	w.endHosts()
	reporting()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.res.Wrong, w.res.Seconds = w.wrong, w.clock().Seconds()
	w.res.Stolen = steal.Share(steal.Total()-stolen, w.clock())
	w.res.OK = err == nil && len(w.wrong) == 0
	if err == nil {
		err = ctx.Err()
	}
	return w.res, err
}

// open makes all that is outside of the cluster, and returns how to remove it.
func (w *workflows) open() (close func() error, err error) {
	var closes []func() error
	close = func() (err error) {
		for _, c := range slices.Backward(closes) {
			err = errors.Join(err, c())
		}
		return err
	}
	if w.dir, err = os.MkdirTemp("", "phalanx-soak"); err != nil {
		return close, err
	}
	closes = append(closes, func() error { return os.RemoveAll(w.dir) })
	if w.world, err = hashdag.NewOutside(filepath.Join(w.dir, "outside"), 0); err != nil {
		return close, err
	}
	socket := filepath.Join(w.dir, "store")
	stop, err := w.serveStore(socket)
	if err != nil {
		return close, err
	}
	closes = append(closes, stop)
	if bed.Missing() == nil {
		if w.bed, err = bed.New(bed.Config{Hosts: w.cfg.Nodes}); err != nil {
			return close, err
		}
		closes = append(closes, w.bed.Close)
	}
	mounts := true
	for i := range w.cfg.Nodes {
		n := WorkflowNode{Name: fmt.Sprint("n", i+1), Bind: loopback, Effects: w.world.Dir, Store: socket, Versions: []int{1}}
		if w.bed != nil {
			n.Bind = w.bed.Addr(i)
		}
		if i < diskNodes {
			n.Dir = filepath.Join(w.dir, n.Name)
			if err := os.Mkdir(n.Dir, 0o755); err != nil {
				return close, err
			}
			if mounts {
				if err := mountDisk(n.Dir); err != nil {
					mounts = false // this process may not
				} else {
					closes = append(closes, func() error { return unmountDisk(n.Dir) })
				}
			}
		}
		w.hosts = append(w.hosts, &host{number: i, node: n})
	}
	for _, kind := range WorkflowFaults {
		can := (kind != cut || w.bed != nil) && (kind != full || mounts)
		if asked := slices.Contains(w.cfg.Faults, kind); asked && !can {
			return close, fmt.Errorf("the fault %q takes root, and the commands ip, tc and nft", kind)
		} else if can && (asked || w.cfg.Faults == nil) {
			w.kinds = append(w.kinds, kind)
		}
	}
	return close, nil
}

// run starts the processes and does one round after the other.
func (w *workflows) run() error {
	for _, h := range w.hosts { // the first one begins the cluster and the ledger
		if err := w.start(h); err != nil {
			return err
		}
	}
	if why := w.whole(); why != "" {
		return fmt.Errorf("the cluster does not form: %s", why)
	}
	rng := rand.New(rand.NewPCG(w.cfg.Seed, 0))
	if err := w.round(rng, min(warmUp, w.cfg.For/4), false); err != nil {
		return err
	}
	for start := w.clock(); !w.broken(); {
		length := min(roundLength, w.cfg.For-(w.clock()-start))
		if length < time.Second {
			return nil
		}
		if err := w.round(rng, length, true); err != nil {
			return err
		}
	}
	return nil
}

// round works for a while, then comes to rest.
func (w *workflows) round(rng *rand.Rand, length time.Duration, faulty bool) error {
	w.mu.Lock()
	w.told, w.checks = map[string]reservation.Booking{}, nil
	w.store = reservation.NewStore(reservation.AllRows(tripsOfEach), seatsOfEach)
	w.mu.Unlock()
	striking, end := context.WithTimeout(w.ctx, length)
	defer end()
	working, cancel := context.WithCancel(w.ctx) // until the cluster has recovered
	defer cancel()
	var clients sync.WaitGroup
	for range hashers {
		mine := rand.New(rand.NewPCG(rng.Uint64(), 1))
		clients.Go(func() { w.hash(working, mine) })
	}
	for range bookers {
		mine := rand.New(rand.NewPCG(rng.Uint64(), 1))
		clients.Go(func() { w.travel(working, mine) })
	}
	for range players {
		mine := rand.New(rand.NewPCG(rng.Uint64(), 1))
		clients.Go(func() { w.play(working, mine) })
	}
	if faulty {
		w.nemesis(striking, rand.New(rand.NewPCG(rng.Uint64(), 2)))
	}
	<-striking.Done()
	cancel()
	clients.Wait()
	if w.broken() {
		return nil
	}
	if err := w.ctx.Err(); err != nil {
		return err
	}
	w.rest()
	return nil
}
