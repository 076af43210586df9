package barrier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/barrier/message"
	"github.com/phalanx-go/phalanx/cluster"
	core "github.com/phalanx-go/phalanx/protocol/barrier"
)

// The configuration and the entries of a barrier.
type (
	Config     = core.Config
	Entry      = core.Entry
	Passage    = message.Passage
	Knee       = core.Knee
	Throttle   = core.Throttle
	Semaphore  = core.Semaphore
	LateMode   = core.LateMode
	FieldError = core.FieldError
)

// The late modes.
const (
	PassThrough = core.PassThrough
	CatchUp     = core.CatchUp
)

// Enter and Release fail with these, in a phalanx.Error of kind ErrAborted or
// ErrInvalid. Calls also fail with errors of kind ErrDeadline and ErrCanceled (with an
// AbsentError), ErrMismatch (with a MismatchError), ErrNotFound and ErrClosed.
var (
	// ErrCatchUp says that the barrier has fired without the caller, and that its
	// Config does not let a late caller go on.
	ErrCatchUp = errors.New("the barrier has fired without this entry")
	// ErrHeld says that the entry holds the semaphore already, or waits for it. Each
	// holder is an entry of its own.
	ErrHeld = errors.New("the entry holds the semaphore already, or waits for it: give each holder a label or a host of its own")
	// ErrNotHeld says that the caller does not hold the semaphore: it has not
	// entered, has released it, or has held it for longer than Semaphore.Timeout.
	ErrNotHeld = errors.New("the entry does not hold the semaphore")
	// ErrRemoved says that somebody has removed the barrier while the caller waited in it. It is a
	// phalanx.ErrDeleted.
	ErrRemoved = errors.New("it was removed")
	// ErrOutside says that the caller is not inside a double barrier, which it wants to leave.
	ErrOutside = errors.New("the entry is not inside the barrier: enter it before you leave it")
	// ErrLeaves says that the entry is leaving a double barrier, and cannot enter it.
	ErrLeaves = errors.New("the same entry is leaving the barrier: it can enter when all entries have left")
	// ErrManagersLost says that all managers of the barrier died at once, and that no node knows
	// whether it had fired: others may have passed. No participant passes it any more. It is a
	// phalanx.ErrUnknown.
	ErrManagersLost = errors.New("all managers of the barrier have died, and no node knows whether it had fired: go on with another name or generation")
)

var errLeft = errors.New("this node has left the cluster")

// Barrier is a barrier as one node sees it. It is safe for concurrent use, and
// need not be closed.
type Barrier struct {
	node *cluster.Node
	pid  *actor.PID
	key  core.Key
	// joins says that other participants give the Config, which may change later.
	joins bool
	cfg   atomic.Pointer[Config] // nil: it is not known yet
}

// Option is an optional argument of Open and Join.
type Option func(*Barrier)

// WithGeneration opens one of many barriers with a name: a barrier fires once, and the
// next round of a loop needs the next generation, or another name. Once a generation
// has been entered, the managers forget fired generations two or more before it;
// a participant that enters one of them is late.
func WithGeneration(g uint64) Option { return func(b *Barrier) { b.key.Generation = g } }

// Open returns the barrier called name. All callers of Open give the same Config; a caller that
// does not know it uses Join. Open fails with a FieldError if the Config is invalid. The first
// entry creates the barrier.
func Open(n *cluster.Node, name string, cfg Config, opts ...Option) (*Barrier, error) {
	return named("open", n, name, opts, &cfg)
}

// named returns the barrier called name. Without a Config it is joined.
func named(op string, n *cluster.Node, name string, opts []Option, cfg *Config) (*Barrier, error) {
	b := &Barrier{node: n, key: core.Key{Name: name}, joins: cfg == nil}
	for _, o := range opts {
		o(b)
	}
	err := b.key.Validate()
	if cfg != nil {
		b.cfg.Store(cfg)
		if err == nil {
			err = cfg.Validate()
		}
	}
	if err != nil {
		return nil, b.fail(op, phalanx.ErrInvalid, err)
	}
	pid, ok := n.Service(Name)
	if !ok {
		return nil, b.fail(op, phalanx.ErrInvalid, errors.New("this node has no barriers: add barrier.Service() to cluster.Config.Services"))
	}
	b.pid = pid
	return b, nil
}

// Enter enters the barrier and returns when the caller goes on, or when ctx ends. If ctx
// has no deadline, it waits for a minute longer than Config.Timeout. Entry.Host names the
// participant; if it is empty, the node enters by its name, and counts once, also if it was
// started again. The barrier waits for labels, where they are used, and else for hosts. It fires
// once: a participant that enters after that is late.
//
// Entering again is the same entry. One caller at a time holds an entry of a semaphore, and
// releases it at the node where it entered. A caller that enters it at another node takes
// its place, and a caller that waits at the first node gets ErrHeld.
//
// A caller that gives up has not entered: its entry is withdrawn, unless the barrier has
// fired before; then Enter succeeds. If the barrier's manager does not answer for a second,
// Enter ends nevertheless, and the error says that the entry may count. The error names the
// absent participants; its Node is the manager if that is silent, or the member for which the
// manager waits.
func (b *Barrier) Enter(ctx context.Context, e Entry) (Passage, error) {
	d, err := b.do(ctx, "enter", core.CallEnter, e, nil, nil)
	if err != nil {
		return Passage{}, err
	}
	if d.Verdict == core.Behind {
		return Passage{Late: true, Term: d.Term, Batch: d.Batch}, b.fail("enter", phalanx.ErrAborted, ErrCatchUp)
	}
	return Passage{Late: d.Verdict == core.LateFire, Term: d.Term, Batch: d.Batch}, nil
}

// EnterFunc enters without waiting, and calls f with the results of Enter.
func (b *Barrier) EnterFunc(ctx context.Context, e Entry, f func(Passage, error)) {
	go func() { f(b.Enter(ctx, e)) }()
}

// Release ends the work that a semaphore bounds, and admits the next participant. It fails with
// ErrNotHeld if the caller does not hold it any more.
func (b *Barrier) Release(ctx context.Context, e Entry) error {
	_, err := b.do(ctx, "release", core.CallRelease, e, nil, nil)
	return err
}

// Leave has the caller, which has passed a double barrier (Config.Double), leave it, and returns
// when all participants inside have called Leave, or when ctx ends. It does not wait for participants
// on nodes that are no members any more. It fails with ErrOutside if the caller has not passed the
// barrier. A caller that gives up has left nevertheless; the error, an InsideError, names those inside.
//
// Ten minutes after the last entry or Leave (Settings.Linger) the managers forget the participants
// inside: a later Leave does not wait. Ten to twenty minutes after that they also forget that
// the barrier has fired, and Leave fails with ErrManagersLost.
func (b *Barrier) Leave(ctx context.Context, e Entry) error {
	_, err := b.do(ctx, "leave", core.CallLeave, e, nil, nil)
	return err
}

// Remove ends the barrier: calls that wait in it fail with ErrRemoved, a phalanx.ErrDeleted, and
// the next entry begins a new one. Holders of a semaphore go on holding it, and later entries
// wait for them. Remove fails with a phalanx.ErrNotFound if no participant has entered.
func (b *Barrier) Remove(ctx context.Context) error {
	_, err := b.do(ctx, "remove", core.CallRemove, Entry{}, nil, nil)
	return err
}

// Hosts returns the hosts that were let through, each with its labels. It fails with a
// phalanx.ErrNotFound if no participant has entered, or if the barrier has been over for ten
// seconds (Settings.Keep).
func (b *Barrier) Hosts(ctx context.Context) (map[string][]string, error) {
	d, err := b.do(ctx, "hosts", core.CallHosts, Entry{}, nil, nil)
	return d.Hosts, err
}

// entry has the node enter where no host is named.
func (b *Barrier) entry(e Entry) Entry {
	e.Host = cmp.Or(e.Host, b.node.ID().Name()) // a node that starts again is the same unit
	return e
}

// do makes a call, with the callbacks that a Watch is for, or the Hold that it is to make, and
// waits for its end.
func (b *Barrier) do(ctx context.Context, op string, kind core.CallKind, e Entry, w *watcher, h *Hold) (core.Done, error) {
	ended := make(chan ending, 1)
	m := &asked{call: core.Call{Kind: kind, Key: b.key, Config: b.known(), Entry: b.entry(e)}, joins: b.joins, watcher: w, hold: h, end: func(e ending) { ended <- e }}
	if err := m.invalid(); err != nil {
		return core.Done{}, b.fail(op, phalanx.ErrInvalid, err)
	}
	if err := ctx.Err(); err != nil { // its caller does not wait, and does not enter
		return core.Done{}, ending{cause: err, given: core.GivenUp{Withdrawn: true}}.err(op, b.key)
	}
	ctx, cancel := m.bound(ctx, b.node.Now())
	defer cancel()
	over := func(e ending) (core.Done, error) {
		if b.joins && !zero(e.done.Config) {
			b.cfg.Store(&e.done.Config)
		}
		return e.done, e.err(op, b.key)
	}
	root := b.node.System().Root
	root.Send(b.pid, m)
	select {
	case e := <-ended:
		return over(e)
	case <-b.node.Done():
		return core.Done{}, b.fail(op, phalanx.ErrClosed, errLeft)
	case <-ctx.Done():
	}
	root.Send(b.pid, &givenUp{m, causeOf(ctx)})
	select {
	case e := <-ended:
		return over(e)
	case <-b.node.Done():
		return core.Done{}, b.fail(op, phalanx.ErrClosed, errLeft)
	case <-time.After(answerWithin): // the actor is not there: it is restarted
		if m.taken.CompareAndSwap(false, true) {
			return core.Done{}, ending{cause: causeOf(ctx)}.err(op, b.key)
		}
		return over(<-ended)
	}
}

// answerWithin bounds how long after its deadline a call may return: the core waits for half
// of it to hear what has become of an entry.
const answerWithin = 2 * time.Second

// within gives a context without a deadline the deadline of cfg.
func within(ctx context.Context, cfg Config) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, cfg.Patience())
}

func (b *Barrier) fail(op string, kind phalanx.Kind, err error) error {
	return failure(op, b.key, kind, err)
}

func failure(op string, k core.Key, kind phalanx.Kind, err error) *phalanx.Error {
	return &phalanx.Error{Op: "barrier " + op, Object: phalanx.ObjectID(k.String()), Kind: kind, Err: err}
}

// err returns what a call's end is to its caller; nil: it succeeded.
func (e ending) err(op string, k core.Key) error {
	switch {
	case errors.Is(e.cause, errLeft):
		return failure(op, k, phalanx.ErrClosed, errLeft)
	case e.bad != nil:
		return failure(op, k, phalanx.ErrInvalid, e.bad)
	case e.cause != nil:
		kind := phalanx.ErrDeadline
		if errors.Is(e.cause, context.Canceled) {
			kind = phalanx.ErrCanceled
		}
		why := e.waited()
		if op == "enter" && e.doubtful() {
			why = fmt.Errorf("%w; the entry may still count", why)
		}
		f := failure(op, k, kind, why)
		f.Node = e.given.Culprit()
		return f
	case e.done.Verdict == core.Mismatch:
		return failure(op, k, phalanx.ErrMismatch, &MismatchError{Field: e.done.Field})
	case e.done.Verdict == core.Deleted:
		return failure(op, k, phalanx.ErrDeleted, ErrRemoved)
	case e.done.Verdict == core.Outside:
		return failure(op, k, phalanx.ErrInvalid, ErrOutside)
	case e.done.Outcome == core.Leaves:
		return failure(op, k, phalanx.ErrInvalid, ErrLeaves)
	case e.done.Verdict == core.Doubtful:
		return failure(op, k, phalanx.ErrUnknown, ErrManagersLost)
	case e.done.Outcome == core.HeldAlready:
		return failure(op, k, phalanx.ErrInvalid, ErrHeld)
	case e.done.Outcome == core.NotHeld:
		return failure(op, k, phalanx.ErrInvalid, ErrNotHeld)
	case e.done.Outcome == core.Forgotten && (op == "enter" || op == "leave"): // it joins what has fired: it is late
		return nil
	case e.done.Outcome == core.Forgotten:
		return failure(op, k, phalanx.ErrNotFound, errors.New("the barrier has fired, and its managers remember only that (Settings.Keep)"))
	case e.done.Outcome == core.Unknown:
		return failure(op, k, phalanx.ErrNotFound, errors.New("no participant has entered the barrier"))
	}
	return nil
}

// doubtful reports whether an entry that was given up may still count.
func (e ending) doubtful() bool {
	return !e.given.Withdrawn && e.done.Config.Semaphore == Semaphore{}
}

// waited says why a call that was given up had to wait.
func (e ending) waited() error {
	switch g := e.given; {
	case g.Unopened && (g.Heard || g.Primary == ""):
		return ErrNotOpened
	case g.Unopened:
		return fmt.Errorf("%w: %w", ErrNotOpened, silent(g))
	case !g.Heard:
		return silent(g)
	case len(g.Awaits) > 0:
		return fmt.Errorf("%w; %w", stands(g), silent(g))
	default:
		return stands(g)
	}
}

// silent says why the manager has not answered a call that was given up.
func silent(g core.GivenUp) error {
	switch {
	case len(g.Awaits) > 0:
		return fmt.Errorf("its manager %s waits for %s", g.Primary, join(g.Awaits))
	case g.Unleased:
		return errors.New("this node manages it, and has no lease: no majority of the voters has answered it")
	case g.Primary == "":
		return errors.New("the manager has not answered yet")
	}
	return fmt.Errorf("its manager %s has not answered yet", g.Primary)
}

// stands says how the barrier stands, for a call that was given up.
func stands(g core.GivenUp) error {
	s := g.Last
	switch {
	case g.Leaves && len(s.Inside) > 0:
		return &InsideError{Inside: s.Inside}
	case len(s.Holders) > 0:
		return fmt.Errorf("the semaphore is held by %s", join(s.Holders))
	case len(s.Absent) > 0:
		return &AbsentError{N: s.N, Max: s.Max, Absent: s.Absent}
	}
	return fmt.Errorf("%d of %d have entered", s.N, s.Max)
}

// AbsentError names the absent participants: units of Config.Expect that have not come,
// or without an Expect the members of the cluster from which no participant has entered.
type AbsentError struct {
	N, Max int // units that have come, and of how many
	Absent []string
}

func (e *AbsentError) Error() string {
	return fmt.Sprintf("%d of %d have entered; absent: %s", e.N, e.Max, strings.Join(e.Absent, ", "))
}

// InsideError names the participants inside a double barrier that have not left it yet.
type InsideError struct{ Inside []string }

func (e *InsideError) Error() string {
	return "still inside: " + strings.Join(e.Inside, ", ")
}

// MismatchError names the field of the Config for which earlier participants gave another
// value.
type MismatchError struct{ Field string }

func (e *MismatchError) Error() string {
	return "earlier participants gave another " + e.Field + " in their Config"
}

// invalid returns the mistake in a call, or nil. It does not check a Config that is not known
// yet.
func (a *asked) invalid() error {
	c := a.call
	if err := c.Entry.Validate(); err != nil {
		return err
	}
	semaphore := c.Config.Semaphore != Semaphore{}
	switch {
	case a.joins && zero(c.Config):
	case a.hold != nil && !semaphore:
		return &FieldError{Field: "Semaphore", Text: "the barrier has no semaphore to acquire"}
	case c.Kind == core.CallLeave && !c.Config.Double:
		return &FieldError{Field: "Double", Text: "the barrier is not double: its participants do not leave together"}
	case c.Kind == core.CallEnter:
		return c.Config.Expects(c.Entry)
	case c.Kind == core.CallRelease && !semaphore:
		return &FieldError{Field: "Semaphore", Text: "the barrier has no semaphore to release"}
	case a.watcher != nil:
		return a.watcher.f.invalid(c.Config)
	}
	return nil
}

func join[T any](all []T) string {
	var names []string
	for _, e := range all {
		names = append(names, fmt.Sprint(e))
	}
	return strings.Join(names, ", ")
}
