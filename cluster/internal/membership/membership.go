package membership

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/cluster/internal/remoting"
	"github.com/phalanx-go/phalanx/protocol/join"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// Config has the arguments of Start.
type Config struct {
	System   *actor.ActorSystem
	Remote   *remoting.Remoting
	Self     view.Member
	Common   view.Common
	Shards   int      // of a cluster that this node begins; 0: the default
	Voters   int      // at most; 0: the default
	Seeds    []string // control addresses, host:port, of this node too if it is one; none: a cluster of its own
	Members  []string // control addresses that are asked as well until the node is ready; members when it was one
	Again    bool     // it was a member before: it begins no cluster
	Restarts uint64   // of a cluster that this node begins
	Clock    actors.Clock
	Log      logrus.FieldLogger

	// The following are called in order, by one goroutine at a time. They must
	// not block; if one panics, it is called again. Views are told from the first
	// that has this node.
	OnView  func(view.View)
	OnLease func(until time.Duration) // when this node may answer and confirm, by Clock
	// IdleAfter is how long there are leases after the last Want; 0: always.
	IdleAfter time.Duration
	// OnAsked learns that a member was sent a message that it has to answer, and OnHeard that
	// a message came from a member, both directly.
	OnAsked, OnHeard func(phalanx.NodeID)
	// OnUnanswered learns that the leader does not reply: the detector is to look at it.
	OnUnanswered func(leader phalanx.NodeID)
	// Via returns the member that relays messages to a member to which the link fails.
	Via func(to phalanx.NodeID) (by phalanx.NodeID, ok bool)
	// Suspects reports whether this node suspects a voter. It may be called at any time.
	Suspects func(phalanx.NodeID) bool
	// OnMajority is told when the majority of the voters is lost, as this node sees it, when
	// others of them are missing, and when it is found.
	OnMajority func(view.Majority)
	// OnBrought is told that by has brought something of from.
	OnBrought func(from, by phalanx.NodeID)
	OnMet     func(at string, cluster phalanx.NodeID) // a node is in another cluster that is ready; it is a seed of this node, or the reverse
	OnFenced  func()                                  // this node was removed, or cannot take part any more; not told when it leaves
}

// Membership is this node's part in the agreement on views. It is safe for
// concurrent use.
type Membership struct {
	cfg  Config
	pid  *actor.PID
	host *host

	mu      sync.Mutex
	view    view.View
	member  bool          // has been one
	ready   bool          // may serve
	failed  error         // why it does not join
	fenced  bool          // Invariant: view does not change any more
	changed chan struct{} // closed and replaced when one of these changes
	synced  []view.Synced // to be proposed together

	answers   *answers // of the seeds
	inquiries sync.WaitGroup
	said      bool // by mu: Join has said why it fails, and asks no seed any more

	background context.Context // of requests to seeds; ends with Stop
	end        context.CancelFunc

	leaving atomic.Bool
	stopped atomic.Bool
	leader  atomic.Value // phalanx.NodeID
}

// Start spawns the actor. The node is no member before Join.
func Start(cfg Config) (*Membership, error) {
	core := view.Config{Self: cfg.Self, Common: cfg.Common, Shards: cfg.Shards, Voters: cfg.Voters, IdleAfter: cfg.IdleAfter}
	if err := core.Validate(); err != nil {
		return nil, &phalanx.Error{Op: "join", Node: cfg.Self.ID, Kind: phalanx.ErrInvalid, Err: err}
	}
	return startWith(cfg, view.New(core))
}

func startWith(cfg Config, core *view.Core) (*Membership, error) {
	m := &Membership{cfg: cfg, changed: make(chan struct{}), answers: &answers{self: cfg.Self.ID, of: map[string]answered{}}}
	m.background, m.end = context.WithCancel(context.Background())
	m.host = &host{m: m, core: core, join: join.New(join.Config{Self: cfg.Self.ID}), book: book{at: map[phalanx.NodeID]string{}}}
	props := actor.PropsFromProducer(func() actor.Actor { return &instance{host: m.host} }, actor.WithMailbox(actors.Early(actor.Unbounded())))
	m.pid = cfg.System.NewLocalPID(actorName) // the actor itself uses it
	if _, err := cfg.System.Root.SpawnNamed(actors.Restarting(cfg.Log).Guard(props), actorName); err != nil {
		return nil, &phalanx.Error{Op: "join", Node: cfg.Self.ID, Kind: phalanx.ErrInternal, Err: err}
	}
	return m, nil
}

// Stop ends the actor; without Leave, as if the node had crashed. Stopping twice
// is safe.
func (m *Membership) Stop() {
	m.stopped.Store(true)
	m.end()
	_ = m.cfg.System.Root.StopFuture(m.pid).Wait()
	m.inquired()
}

// View returns the newest view since this node was a member, or the zero View.
// It must not be changed.
func (m *Membership) View() view.View {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.view
}

// Leader returns the leader of the voters, as far as this node knows, or "".
func (m *Membership) Leader() phalanx.NodeID {
	id, _ := m.leader.Load().(phalanx.NodeID)
	return id
}

// InSync proposes that node, which has all of a shard's state in epoch, becomes
// its backup or owner. Proposals that come shortly after each other become one view.
func (m *Membership) InSync(shard int, epoch uint64, node phalanx.NodeID) {
	m.mu.Lock()
	if s := (view.Synced{Shard: shard, Epoch: epoch, Node: node}); !slices.Contains(m.synced, s) {
		m.synced = append(m.synced, s)
	}
	m.mu.Unlock()
	m.tell(gather{})
}

// Drop proposes to take node off a shard, if it is still in epoch.
func (m *Membership) Drop(shard int, epoch uint64, node phalanx.NodeID) {
	m.Propose(view.Drop{Shard: shard, Epoch: epoch, Node: node})
}

// Propose asks for c until the view shows it, or for ten seconds.
func (m *Membership) Propose(c view.Command) { m.tell(propose{c}) }

// Want tells that this node has requests that need a lease. The caller repeats it within
// Config.IdleAfter for as long as that is so.
func (m *Membership) Want() { m.tell(want{}) }

// Look tells that this node suspects others than before.
func (m *Membership) Look() { m.tell(look{}) }

// Broken tells that the control connection with the node at address broke.
func (m *Membership) Broken(address string) { m.tell(broken{address}) }

// tell sends a message of this node's own to the actor.
func (m *Membership) tell(message any) { m.cfg.System.Root.Send(m.pid, message) }

// publish takes a view from the core.
func (m *Membership) publish(v view.View) {
	m.mu.Lock()
	m.member = m.member || v.Has(m.cfg.Self.ID)
	if !m.member {
		m.mu.Unlock()
		return // learned on the way in
	}
	m.view = v
	m.wake()
	m.mu.Unlock()
	m.cfg.OnView(v)
}

// set changes the state for which Join waits.
func (m *Membership) set(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
	m.wake()
}

// fence takes note, once, that this node has no part any more.
func (m *Membership) fence() {
	m.mu.Lock()
	again := m.fenced
	m.fenced = true
	m.wake()
	m.mu.Unlock()
	if !again && !m.leaving.Load() {
		m.cfg.OnFenced()
	}
}

// wake wakes all callers of await. It needs mu.
func (m *Membership) wake() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// await waits until a view fulfils until, and reports whether the node was
// fenced instead. It fails only with ctx.
func (m *Membership) await(ctx context.Context, until func(view.View) bool) (fenced bool, err error) {
	for {
		m.mu.Lock()
		v, fenced, changed := m.view, m.fenced, m.changed
		m.mu.Unlock()
		if fenced || until(v) {
			return fenced, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

func (m *Membership) takeSynced() []view.Synced {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.synced
	m.synced = nil
	return s
}

// fail returns the error of a call of this node.
func (m *Membership) fail(op string, kind phalanx.Kind, err error) error {
	return &phalanx.Error{Op: op, Node: m.cfg.Self.ID, Kind: kind, Err: err}
}
