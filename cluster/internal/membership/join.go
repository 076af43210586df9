package membership

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/protocol/join"
	"github.com/phalanx-go/phalanx/protocol/view"
)

const askFor = 2 * time.Second // how long one seed may take to answer

// Join makes this node a member of the cluster that the seeds are in, or of one that they
// begin; without seeds, of one of its own. It returns when the node may serve. If ctx ends
// before, the error says of every seed why it did not help; it is ErrUnavailable if the cluster
// of a seed has lost the majority of its voters, and admits no node. Join fails at once with ErrRefused
// if all of them are in a cluster that never lets this node in, and with ErrAnew if the
// cluster in which it was gave way to another one.
func (m *Membership) Join(ctx context.Context) error {
	seeds, err := m.seeds()
	if err != nil {
		return err
	}
	asking, cancel := context.WithCancel(m.background)
	stay := context.AfterFunc(ctx, cancel)
	joined := false
	defer func() {
		if stay(); !joined {
			cancel()
		} // else seeds go on asking each other: they may meet another cluster
	}()
	m.set(func() { m.said = false })
	m.answers.ask(seeds)
	m.tell(enter{ctx: asking, seeds: seeds})
	for {
		m.mu.Lock()
		ready, fenced, failed, changed, member := m.ready, m.fenced, m.failed, m.changed, m.member
		m.mu.Unlock()
		switch {
		case fenced:
			return m.fail("join", phalanx.ErrFenced, errors.New("a later incarnation of this node is in the cluster, or it was removed"))
		case failed != nil:
			return failed
		case ready && member:
			joined = true
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			m.inquired() // the errors say what each seed was waiting for
			err := context.Cause(ctx)
			if said := m.answers.String(); said != "" {
				err = fmt.Errorf("%s: %w", said, err)
			}
			if errors.Is(err, context.Canceled) {
				return m.fail("join", phalanx.ErrCanceled, err)
			}
			if m.answers.stuck() {
				return m.fail("join", phalanx.ErrUnavailable, err)
			}
			return m.fail("join", phalanx.ErrDeadline, err)
		}
	}
}

// ErrAnew says that the cluster in which a node was gave way to another one before it was
// ready: the node is to join as a new incarnation.
var ErrAnew = errors.New("the node's cluster, which was not ready, gave way to another one")

// seeds returns the seeds, and fails if one cannot be an address.
func (m *Membership) seeds() ([]string, error) {
	var all []string
	for _, s := range m.cfg.Seeds {
		host, port, err := net.SplitHostPort(s)
		if err == nil && host == "" {
			err = errors.New("the address names no host")
		}
		if n, bad := strconv.Atoi(port); err == nil && (bad != nil || n < 1 || n > 65535) {
			err = fmt.Errorf("%q is not a port from 1 to 65535", port)
		}
		if err != nil {
			return nil, m.fail("join", phalanx.ErrInvalid, fmt.Errorf("seed %q: %w", s, err))
		}
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all, nil
}

// inquireSoon asks a seed, unless ctx has ended.
func (m *Membership) inquireSoon(ctx context.Context, e join.Ask, says join.Answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() == nil && !m.said {
		m.inquiries.Go(func() { m.inquire(ctx, e.Seed, e.Num, says) })
	}
}

// inquired waits until all requests to seeds have ended, after the end of their context.
func (m *Membership) inquired() {
	m.mu.Lock()
	m.said = true
	m.mu.Unlock()
	m.inquiries.Wait()
}

// inquire asks a seed, with this node's own state in the request, and gives the actor the
// seed's answer.
func (m *Membership) inquire(ctx context.Context, seed string, num uint64, says join.Answer) {
	asking, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	a := answered{seed: seed, num: num}
	a.answer, a.view, a.err = m.ask(asking, seed, says)
	if a.err == nil && len(a.view.Members) > 0 && m.View().Number == 0 {
		a.replaces, a.err = m.replaces(asking, a.view)
	}
	if ctx.Err() != nil {
		m.answers.noteFirst(a) // it had no time to say more than before
		return
	}
	m.tell(a)
	m.answers.note(a)
}

// ask asks the addresses of a seed's name one after the other.
func (m *Membership) ask(ctx context.Context, seed string, says join.Answer) (join.Answer, view.View, error) {
	host, port, _ := net.SplitHostPort(seed)
	addresses, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return join.Answer{}, view.View{}, err
	}
	var errs []error
	for _, a := range addresses {
		reply, err := m.request(ctx, net.JoinHostPort(a, port), says)
		if err == nil {
			answer, v, err := messages.JoinReplyFromProto(reply)
			if err == nil {
				return answer, v, nil
			}
			errs = append(errs, err)
			continue
		}
		errs = append(errs, err)
	}
	return join.Answer{}, view.View{}, errors.Join(errs...)
}

// replaces returns the member of v that has this node's name and whose process has gone. It
// fails if that process still answers: two of one name would remove each other in turn.
func (m *Membership) replaces(ctx context.Context, v view.View) (phalanx.NodeID, error) {
	old, taken := v.Namesake(m.cfg.Self.ID)
	if !taken || old.ID == m.cfg.Self.ID || old.Control == m.cfg.Self.Control { // of the last, its address is free
		return old.ID, nil
	}
	if m.Answers(ctx, old) {
		return "", refusal{fmt.Errorf("the node %s at %s has this name, and it answers: give each node a name of its own (--name), or stop that one first", old.ID, old.Control)}
	}
	return old.ID, nil
}

// Answers reports whether the process of a member answers.
func (m *Membership) Answers(ctx context.Context, other view.Member) bool {
	reply, err := m.request(ctx, other.Control, join.Answer{})
	return err == nil && reply.GetFrom() == string(other.ID)
}

// refusal says why this node is not let in, whenever it asks.
type refusal struct{ error }

func (refusal) Is(target error) bool { return target == phalanx.ErrRefused }

// request asks the node at address for the view.
func (m *Membership) request(ctx context.Context, address string, says join.Answer) (*messages.JoinReply, error) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	request := messages.JoinRequestToProto(m.cfg.Self, m.cfg.Common, says)
	answer, err := m.cfg.Remote.Request(ctx, m.cfg.Remote.PID(address, actorName), request)
	if err != nil {
		return nil, err
	}
	reply, ok := answer.(*messages.JoinReply)
	if !ok {
		return nil, fmt.Errorf("the node answered with a %T", answer)
	}
	return reply, nil
}
