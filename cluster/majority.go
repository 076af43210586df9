package cluster

import (
	"errors"
	"fmt"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/node/member"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// sees takes this node's finding about the majority of the voters, and reports when it is lost
// and when it is found again.
func (l *life) sees(m view.Majority) {
	defer l.tellLeaver()
	number := l.view.Load().Number
	var now *view.Majority
	if m.Lost {
		now = &m
	}
	switch news := member.News(l.majority.Swap(now), m); {
	case !news:
	case !m.Lost:
		found := actors.MajorityFound{View: number, Took: l.n.clock() - m.Since}
		l.log.Warn(found.String())
		l.n.system.EventStream.Publish(found)
	default:
		l.n.tellNoLease()
		lost := actors.MajorityLost{View: number, Voters: m.Voters, Missing: m.Missing}
		l.log.Error(lost.String() + "; the cluster decides nothing, and calls that need the directory wait or fail, until they are back. Voters that hang or are cut off come back by themselves. " +
			"Voters that have died do not, also if they are started again, as new members: then run the command `phalanx recover` at one of the living nodes, which forms the cluster anew")
		l.n.system.EventStream.Publish(lost)
	}
}

// foundByNext tells that the majority is found if this incarnation, which has ended, has
// not: the next one is a member.
func (l *life) foundByNext() {
	if m := l.majority.Load(); m != nil {
		l.sees(view.Majority{Since: m.Since})
	}
}

// suspects reports whether this node suspects another one.
func (l *life) suspects(node phalanx.NodeID) bool {
	_, suspected := l.detector.Suspicion(node)
	return suspected
}

// errMajority says that the majority of the voters is lost, and which are missing; nil if
// it is not lost.
func (l *life) errMajority() error {
	m := l.majority.Load()
	if m == nil {
		return nil
	}
	return errors.New("the majority of the voters is lost: " + actors.MissingVoters(m.Voters, m.Missing))
}

// unready returns why this node cannot be given work, or nil.
func (n *Node) unready() *phalanx.Error {
	l, err := n.use("", "")
	if e := (*phalanx.Error)(nil); errors.As(err, &e) {
		return e
	}
	refuse := func(kind phalanx.Kind, err error) *phalanx.Error {
		return &phalanx.Error{Node: l.id, Kind: kind, Err: err}
	}
	m, ok := l.view.Load().Member(l.id)
	switch {
	case !ok:
		return refuse(phalanx.ErrUnavailable, errors.New("the node is not a member of the cluster"))
	case m.Leaving:
		return refuse(phalanx.ErrClosed, errors.New("the node is leaving the cluster"))
	}
	if lost := l.errMajority(); lost != nil {
		return refuse(phalanx.ErrUnavailable, lost)
	}
	return nil
}

// because returns err, with which a call has ended, and adds that the majority of the
// voters is lost if that is why the call had to wait.
func (l *life) because(err error) error {
	lost := l.errMajority()
	var e *phalanx.Error
	if lost == nil || !errors.As(err, &e) || e.Kind != phalanx.ErrDeadline && e.Kind != phalanx.ErrUnavailable {
		return err
	}
	out := *e
	out.Err = lost
	if e.Err != nil {
		out.Err = fmt.Errorf("%w; %w", e.Err, lost)
	}
	return &out
}
