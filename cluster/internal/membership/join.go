package membership

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/errgroup"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/protocol/view"
)

const (
	askFor    = 2 * time.Second        // how long one seed may take to answer
	askAgain  = 500 * time.Millisecond // when what a seed answered did not lead on
	askAtOnce = 8                      // seeds
)

// Join makes this node a member of the cluster that the seeds are in, or the
// first of a new one if there are none but itself. It asks all addresses of all
// seeds, again and again, and returns when this node is in the view. If ctx ends
// before, the error says of every seed why it did not help.
func (m *Membership) Join(ctx context.Context) error {
	seeds, err := m.seeds()
	if err != nil {
		return err
	}
	isMember := func(v view.View) bool { return v.Has(m.cfg.Self.ID) }
	if len(seeds) == 0 {
		m.tell(boot{})
		return m.joined(m.await(ctx, isMember))
	}
	answers := &answers{of: map[string]error{}}
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 20*time.Millisecond, time.Second
	fenced, err := backoff.Retry(ctx, func() (bool, error) {
		if err := m.askAll(ctx, seeds, answers); err != nil {
			return false, err
		}
		wait, cancel := context.WithTimeout(ctx, askAgain)
		defer cancel()
		return m.await(wait, isMember)
	}, backoff.WithBackOff(pause), backoff.WithMaxElapsedTime(0))
	if err != nil {
		err = fmt.Errorf("%s: %w", answers, context.Cause(ctx))
	}
	return m.joined(fenced, err)
}

// joined returns what Join returns.
func (m *Membership) joined(fenced bool, err error) error {
	switch {
	case fenced:
		return m.fail("join", phalanx.ErrFenced, errors.New("a later incarnation of this node is in the cluster, or it was removed"))
	case errors.Is(err, context.Canceled):
		return m.fail("join", phalanx.ErrCanceled, err)
	case err != nil:
		return m.fail("join", phalanx.ErrDeadline, err)
	}
	return nil
}

// seeds returns the others, and fails if one cannot be an address.
func (m *Membership) seeds() ([]string, error) {
	var others []string
	for _, s := range m.cfg.Seeds {
		host, port, err := net.SplitHostPort(s)
		if err == nil && host == "" {
			err = errors.New("it names no host")
		}
		if n, bad := strconv.Atoi(port); err == nil && (bad != nil || n < 1 || n > 65535) {
			err = fmt.Errorf("%q is not a port from 1 to 65535", port)
		}
		if err != nil {
			return nil, m.fail("join", phalanx.ErrInvalid, fmt.Errorf("seed %q: %w", s, err))
		}
		if s != m.cfg.Self.Control && !slices.Contains(others, s) {
			others = append(others, s)
		}
	}
	return others, nil
}

// askAll asks all seeds at once and hands what the first answered to the core,
// with the wish to be added. It fails if none answered.
func (m *Membership) askAll(ctx context.Context, seeds []string, to *answers) error {
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	found := make(chan view.View, len(seeds))
	var all errgroup.Group
	all.SetLimit(askAtOnce)
	for _, seed := range seeds {
		all.Go(func() error {
			v, err := m.ask(asking, seed)
			switch {
			case err == nil:
				found <- v
				cancel()
				to.note(seed, nil)
			case ctx.Err() != nil:
				to.noteFirst(seed, err) // it had no time to say more than before
			case asking.Err() == nil:
				to.note(seed, err)
			}
			return nil
		})
	}
	_ = all.Wait()
	select {
	case v := <-found:
		m.tell(learn{v})
		m.Propose(view.AddMember{Member: m.cfg.Self})
		return nil
	default:
		return errors.New("no seed answered")
	}
}

// ask asks one seed after the other of those that its name stands for.
func (m *Membership) ask(ctx context.Context, seed string) (v view.View, err error) {
	host, port, _ := net.SplitHostPort(seed)
	addresses, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return v, err
	}
	var errs []error
	for _, a := range addresses {
		v, err := m.askOne(ctx, net.JoinHostPort(a, port))
		if err == nil {
			return v, nil
		}
		errs = append(errs, err)
	}
	return v, errors.Join(errs...)
}

func (m *Membership) askOne(ctx context.Context, address string) (view.View, error) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	request := &messages.JoinRequest{Member: messages.MemberToProto(m.cfg.Self)}
	answer, err := m.cfg.Remote.Request(ctx, m.cfg.Remote.PID(address, actorName), request)
	if err != nil {
		return view.View{}, err
	}
	reply, ok := answer.(*messages.JoinReply)
	if !ok {
		return view.View{}, fmt.Errorf("it answered with a %T", answer)
	}
	return messages.JoinReplyFromProto(reply)
}

// answers are what the seeds said last.
type answers struct {
	mu    sync.Mutex
	seeds []string
	of    map[string]error
}

func (a *answers) note(seed string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Contains(a.seeds, seed) {
		a.seeds = append(a.seeds, seed)
		slices.Sort(a.seeds)
	}
	a.of[seed] = err
}

func (a *answers) noteFirst(seed string, err error) {
	a.mu.Lock()
	known := slices.Contains(a.seeds, seed)
	a.mu.Unlock()
	if !known {
		a.note(seed, err)
	}
}

func (a *answers) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []string
	for _, s := range a.seeds {
		if err := a.of[s]; err != nil {
			all = append(all, fmt.Sprintf("seed %s: %v", s, err))
		} else {
			all = append(all, fmt.Sprintf("seed %s answered, but its cluster did not take this node in", s))
		}
	}
	return strings.Join(all, "; ")
}
