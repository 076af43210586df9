package keeper

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/node/ledger"
)

// Name is the name of the service's actor, and of the feature that members have in the view.
const Name = "ledger"

// Folder is the feature of members with a folder. The first one with it, in the life of a cluster, creates the ledger.
const Folder = "folder"

// markOf is the feature of a member whose folder belongs to no ledger yet, and outlives the process. The view tells by it that
// a node which begins again has the folder that was the first one, so that no ledger was created if it is empty.
func markOf(disk uint64) string { return fmt.Sprintf("%s/%x", Folder, disk) }

// Settings are of one node.
type Settings struct {
	// Store is the node's folder, open; nil: the node keeps no replica, and only knows where the leader is. The
	// caller closes it when the node has ended.
	Store     durable.Store
	Temporary bool          // the folder is removed with the process
	Host      string        // tells machines apart; default: the operating system's name
	Times     ledger.Config // its durations and counts; others are ignored
}

// Keeper is a node's part of the ledger. It is safe for concurrent use.
type Keeper struct {
	settings Settings
	run      uint64 // random, of this opening of the folder

	ctx     context.Context // ends with the actor; nothing begins beside it then
	end     context.CancelFunc
	running sync.WaitGroup
	doing   map[string]int // under mu: what goes on beside the actor, and how often

	mu      sync.Mutex
	tenure  *tenure // the last one
	lead    ledger.Lead
	changed chan struct{}          // closed and replaced when one of both changes
	parts   map[uint64]chan string // of the snapshots that are sent, by stream: the answers to their parts
	life    uint64                 // of the actor: its instances
	stream  uint64                 // the number of the last snapshot that was received
}

var _ durable.Log = (*Keeper)(nil)

// New returns the Keeper of a node. It works once its Service does. The error names a setting that cannot be.
func New(s Settings) (*Keeper, error) {
	if s.Host == "" {
		s.Host, _ = os.Hostname() // without, all disks count as of different machines
	}
	times := s.Times
	times.Address, times.Disk, times.Host = "any", 0, s.Host
	if err := times.Validate(); err != nil {
		return nil, err
	}
	k := &Keeper{settings: s, run: random(), changed: make(chan struct{}), parts: map[uint64]chan string{}, doing: map[string]int{}}
	k.ctx, k.end = context.WithCancel(context.Background())
	return k, nil
}

// Service has a node keep its part: it belongs into cluster.Config.Services.
func (k *Keeper) Service() cluster.Service {
	service := cluster.Service{Name: Name, NoLease: true, Durable: true, Actor: func(n *cluster.Node) *actor.Props {
		return actor.PropsFromProducer(func() actor.Actor { return &instance{k: k, node: n, incoming: map[uint64]*incoming{}} })
	}}
	if s := k.settings.Store; s != nil {
		service.Features = []string{Folder}
		if i := s.Identity(); i.Cluster != "" {
			service.Resume = &cluster.Resume{Addresses: s.Remembered()}
		} else if !k.settings.Temporary {
			service.Features = append(service.Features, markOf(i.Disk))
		}
	}
	return service
}

// Leader returns which replica leads, and the control address of its node, where the controller is; ok is
// false while none is known.
func (k *Keeper) Leader() (l ledger.Lead, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lead, k.lead.Address != ""
}

// Changed returns a channel that is closed when Leader may return something else.
func (k *Keeper) Changed() <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.changed
}

// Run implements durable.Log. It calls on from its own goroutine, for each tenure that has not ended by then.
// A tenure goes on until its Done, however long on takes. Run returns when ctx ends, or the node.
func (k *Keeper) Run(ctx context.Context, on func(durable.Tenure)) error {
	for last := (*tenure)(nil); ; {
		k.mu.Lock()
		t, changed := k.tenure, k.changed
		k.mu.Unlock()
		if t != nil && t != last && !t.over() {
			last = t
			on(t)
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-k.ctx.Done():
			return durable.ErrClosed
		}
	}
}

// over ends all that runs beside the actor.
func (k *Keeper) over() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.end()
}

// set changes what others wait for.
func (k *Keeper) set(change func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	change()
	close(k.changed)
	k.changed = make(chan struct{})
}

// beside runs what takes time, or returns false: the actor has ended. What says what it does.
func (k *Keeper) beside(what string, f func()) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ctx.Err() != nil {
		return false
	}
	k.doing[what]++
	k.running.Go(func() {
		defer k.did(what)
		f()
	})
	return true
}

func (k *Keeper) did(what string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.doing[what]--; k.doing[what] == 0 {
		delete(k.doing, what)
	}
}

// endWait is how long the actor, as it ends, waits for what runs beside it. A disk that hangs may never answer.
const endWait = 10 * time.Second

// await waits until nothing runs beside the actor any more, and returns what does after a while.
func (k *Keeper) await(most time.Duration) (left []string) {
	done := make(chan struct{})
	go func() {
		k.running.Wait()
		close(done)
	}()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C:
		k.mu.Lock()
		defer k.mu.Unlock()
		return slices.Sorted(maps.Keys(k.doing))
	}
}

// clusterOf returns the id of the cluster of a folder that belongs to a ledger, and ledgerOf the reverse.
func clusterOf(ledger uint64) string { return fmt.Sprintf("%016x", ledger) }

func ledgerOf(cluster string) (uint64, error) {
	if cluster == "" {
		return 0, nil
	}
	id, err := strconv.ParseUint(cluster, 16, 64)
	if err != nil || id == 0 || clusterOf(id) != cluster {
		return 0, fmt.Errorf("%w: %q names no ledger", durable.ErrOtherCluster, cluster)
	}
	return id, nil
}
