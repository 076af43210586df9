package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Command returns the command of a node process, which calls Node with this name
// and these seeds: it joins at one of them, or founds a cluster if there are none.
type Command func(name string, seeds []string) *exec.Cmd

// fleet has the processes. It is safe for concurrent use.
type fleet struct {
	command Command
	clock   func() time.Duration
	fenced  func(*process, bool)
	stood   func(process string, d time.Duration)

	mu      sync.Mutex
	started int
	live    []*process // in the order in which they came
	all     []*process // the last keepProcesses, also those that are gone
	seeds   []string
}

// keepProcesses is how many processes the fleet remembers for the account of a failure.
const keepProcesses = 24

// joining is how long a process may take to join.
const joining = 40 * time.Second

// join starts a process and returns once its node is a member.
func (f *fleet) join(ctx context.Context) (*process, *nodeState, error) {
	f.mu.Lock()
	f.started++
	name, seeds := fmt.Sprint("n", f.started), slices.Clone(f.seeds)
	f.mu.Unlock()
	p, err := launch(name, f.command(name, seeds), f.clock, f.fenced, f.stood)
	if err != nil {
		return nil, nil, err
	}
	f.mu.Lock()
	f.all = append(f.all, p)
	if over := len(f.all) - keepProcesses; over > 0 {
		f.all = slices.Delete(f.all, 0, over)
	}
	f.mu.Unlock()
	select {
	case l := <-p.up:
		f.mu.Lock()
		defer f.mu.Unlock()
		f.live = append(f.live, p)
		f.seeds = append(f.seeds, l.Node.Control)
		return p, l.Node, nil
	case <-p.Done():
		err = errors.New("the process has ended: " + p.errors.String())
	case <-time.After(joining):
		err = fmt.Errorf("the node did not join within %v", joining)
	case <-ctx.Done():
		err = ctx.Err()
	}
	_ = p.Kill()
	return nil, nil, &phalanx.Error{Op: "soak", Node: phalanx.NodeID(name), Kind: phalanx.ErrUnavailable, Err: err}
}

// away removes a process that dies or leaves.
func (f *fleet) away(p *process, control string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live = slices.DeleteFunc(f.live, func(q *process) bool { return q == p })
	f.seeds = slices.DeleteFunc(f.seeds, func(s string) bool { return s == control })
}

// any returns a random process, or nil if there is none.
func (f *fleet) any(rng *rand.Rand) *process {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.live) == 0 {
		return nil
	}
	return f.live[rng.IntN(len(f.live))]
}

func (f *fleet) members() []*process {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.live)
}

// states asks all processes for their states at once; with rest for their heaps too.
func (f *fleet) states(rest bool) (map[string]*nodeState, error) {
	var group sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	all := map[string]*nodeState{}
	for _, p := range f.members() {
		group.Go(func() {
			s, err := p.state(rest)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, err)
				return
			}
			all[p.name] = s
		})
	}
	group.Wait()
	return all, errors.Join(errs...)
}

// settled returns why the cluster could not lose a node now, or "": all nodes see
// all others, and the cluster has all voters and a backup of each shard.
func (f *fleet) settled() string {
	all, err := f.states(false)
	if err != nil {
		return err.Error()
	}
	var ids []phalanx.NodeID
	for _, s := range all {
		ids = append(ids, s.ID)
	}
	slices.Sort(ids)
	for name, s := range all {
		slices.Sort(s.Members)
		switch {
		case !slices.Equal(s.Members, ids):
			return fmt.Sprintf("%s sees %v, but the members are %v", name, s.Members, ids)
		case !s.Whole:
			return fmt.Sprintf("%s sees shards without a backup", name)
		case !s.Enough:
			return fmt.Sprintf("%s sees only %d voters", name, s.Voters)
		}
	}
	return ""
}

// stop ends all processes, the last started first.
func (f *fleet) stop(ctx context.Context) error {
	var errs []error
	for _, p := range slices.Backward(f.members()) {
		p.Ask()
		if err := p.Wait(ctx); err != nil {
			errs = append(errs, fmt.Errorf("%s did not leave in good order: %w: %s", p.name, err, p.errors.String()))
		}
		f.away(p, "")
	}
	return errors.Join(errs...)
}

// kill ends all processes at once.
func (f *fleet) kill() {
	for _, p := range f.members() {
		_ = p.Signal(os.Kill)
	}
	for _, p := range f.members() {
		<-p.Done()
		f.away(p, "")
	}
}
