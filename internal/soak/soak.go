package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/steal"
)

// Config has the settings of a run.
type Config struct {
	Nodes   int // at least MinNodes
	For     time.Duration
	Seed    uint64 // of all choices; their results depend on the times, too
	Command Command
	Report  func(Progress) // called every ReportEvery, and once at the end; may be nil
	Log     func(string)   // called for each fault; may be nil
}

// MinNodes nodes can lose one while another one hangs.
const MinNodes = fewest

// ReportEvery is how often Config.Report is called.
const ReportEvery = time.Second

const (
	warmUp       = 5 * time.Second // without faults; the resources in use after it are the baseline
	roundLength  = time.Minute
	stopPatience = time.Minute
)

// soak is one run.
type soak struct {
	*driving
	cfg Config

	fleet  *fleet
	names  atomic.Int64
	record record
	fate   sync.Mutex // of processes, and of the puts that succeeded there

	ledger *ledger // of this round; replaced when nothing runs

	res   Result             // mu guards it
	first map[string]Figures // of each process, at the driver's first look

	evicted map[string]uint64 // by each process, at the driver's last look
}

// Run soaks. It returns an error if it could not go on; Result.Wrong has the cluster's
// mistakes.
func Run(ctx context.Context, cfg Config) (Result, error) {
	if cfg.Nodes < MinNodes {
		return Result{}, &phalanx.Error{Op: "soak", Kind: phalanx.ErrInvalid, Err: fmt.Errorf("%d nodes are fewer than %d", cfg.Nodes, MinNodes)}
	}
	s := newSoak(ctx, cfg)
	defer s.cancel()
	stolen := steal.Total()
	var feeling sync.WaitGroup
	defer feeling.Wait()
	feeling.Go(func() { feel(s.ctx, func(d time.Duration) { s.stood(driver, d) }) })
	reporting := s.report()
	err := s.run()
	s.judgeMistakes()
	if s.broken() || err != nil {
		s.res.Events = s.accounts()
		s.fleet.kill()
	} else {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
		if end := s.fleet.stop(ending); end != nil {
			s.fail(end)
		}
		cancel()
	}
	s.cancel()
	reporting()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.res.Wrong, s.res.Faults, s.res.Seconds = s.wrong, s.faults.copyCounts(), s.clock().Seconds()
	s.res.Stolen = steal.Share(steal.Total()-stolen, s.clock())
	s.res.OK = err == nil && len(s.wrong) == 0
	if err == nil {
		err = ctx.Err()
	}
	return s.res, err
}

func newSoak(ctx context.Context, cfg Config) *soak {
	s := &soak{driving: newDriving(ctx, cfg.Log), cfg: cfg, ledger: &ledger{}, first: map[string]Figures{}, evicted: map[string]uint64{}}
	s.res = Result{Nodes: cfg.Nodes, Seed: cfg.Seed, Operations: map[string]int{}, Errors: map[string]int{}, Slowest: map[string]float64{}}
	s.fleet = &fleet{command: cfg.Command, clock: s.clock, fenced: s.removed, stood: s.stood}
	return s
}

// run starts the processes and does one round after the other. It returns an error if it
// could not go on; fail notes the cluster's mistakes.
func (s *soak) run() error {
	for range s.cfg.Nodes {
		if _, _, err := s.fleet.join(s.ctx); err != nil {
			return err
		}
	}
	why := ""
	if !s.eventually(restorePatience, func() bool { why = s.fleet.settled(); return why == "" }) {
		return fmt.Errorf("the cluster does not form: %s", why)
	}
	rng := rand.New(rand.NewPCG(s.cfg.Seed, 0))
	start := s.clock()
	for round := 0; ; round++ {
		length := min(roundLength, s.cfg.For-(s.clock()-start))
		if round == 0 {
			length = min(warmUp, s.cfg.For/4)
		}
		if s.broken() || round > 0 && length < time.Second {
			return nil
		}
		if err := s.round(rng, length, round > 0); err != nil {
			return err
		}
	}
}

// round works for a while, then comes to rest.
func (s *soak) round(rng *rand.Rand, length time.Duration, faulty bool) error {
	s.ledger = &ledger{}
	working, cancel := context.WithTimeout(s.ctx, length)
	defer cancel()
	var clients, striking sync.WaitGroup
	for range s.cfg.Nodes {
		mine := rand.New(rand.NewPCG(rng.Uint64(), 1))
		clients.Go(func() { s.client(working, mine) })
	}
	if faulty {
		mine := rand.New(rand.NewPCG(rng.Uint64(), 2))
		striking.Go(func() { s.nemesis(working, mine) })
	}
	striking.Wait()
	clients.Wait()
	if err := s.ctx.Err(); err != nil && !s.broken() {
		return err
	}
	if s.broken() {
		return nil
	}
	return s.rest(rng)
}

// accounts returns the last faults, and the last events of each process.
func (s *soak) accounts() []string {
	s.fleet.mu.Lock()
	defer s.fleet.mu.Unlock()
	return s.driving.accounts(s.fleet.all)
}
