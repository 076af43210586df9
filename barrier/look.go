package barrier

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/messages"
	"github.com/phalanx-go/phalanx/node/member"
	core "github.com/phalanx-go/phalanx/protocol/barrier"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// Status is the state of a barrier.
type Status struct {
	Name       string           `json:"name"`
	Generation uint64           `json:"generation,omitempty"`
	Managers   []phalanx.NodeID `json:"managers"` // the primary first
	Entered    int              `json:"entered"`
	Max        int              `json:"max,omitempty"`
	Fired      string           `json:"fired,omitempty"` // the cause; empty: it has not fired
	Absent     []string         `json:"absent,omitempty"`
	Semaphore  int              `json:"semaphore,omitempty"`    // how many may hold it now
	Holding    int              `json:"holding,omitempty"`      // how many do
	Age        time.Duration    `json:"age_ns"`                 // since the first entry
	Knee       time.Duration    `json:"knee_ns,omitempty"`      // after the first entry, when a knee is found without further entries
	KneeFrom   int              `json:"knee_percent,omitempty"` // and so many percent are there
	Entries    []EntryStatus    `json:"entries"`                // the first thousand
	More       int              `json:"more,omitempty"`         // entries that are left out
}

// EntryStatus is the state of an entry.
type EntryStatus struct {
	Label string           `json:"label,omitempty"`
	Host  string           `json:"host"`
	Nodes []phalanx.NodeID `json:"nodes"`
	State string           `json:"state"` // waiting, through, holding, late, told to catch up, leaving, left, expired
}

// List returns the barriers that the members know of, by name. It leaves out barriers of
// members that do not answer, and the error names these members.
func List(ctx context.Context, n *cluster.Node) ([]Status, error) {
	ctx, cancel := within(ctx, Config{})
	defer cancel()
	var all []Status
	var errs []error
	for _, m := range n.View().Members {
		pid, ok := n.ServiceOn(m.ID, Name)
		if !ok {
			continue
		}
		seen, err := seenOn(ctx, n, pid)
		if err != nil {
			errs = append(errs, &phalanx.Error{Op: "barrier list", Node: m.ID, Kind: phalanx.ErrUnavailable, Err: err})
			continue
		}
		for _, s := range seen {
			all = append(all, status(s))
		}
	}
	slices.SortFunc(all, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Generation, b.Generation))
	})
	return all, errors.Join(errs...)
}

func status(s core.Seen) Status {
	st := Status{Name: s.Key.Name, Generation: s.Key.Generation, Managers: s.Managers, Entered: s.Standing.N, Max: s.Standing.Max, Absent: s.Standing.Absent,
		Semaphore: s.Level, Holding: s.Holding, Age: s.Since, More: s.More, Entries: []EntryStatus{}}
	if s.Standing.Cause != core.NotFired {
		st.Fired = s.Standing.Cause.String()
	} else if s.Config.Knee != (Knee{}) {
		st.Knee, st.KneeFrom = s.Knee, s.Config.Knee.Percent
	}
	for _, e := range s.Entrances {
		st.Entries = append(st.Entries, EntryStatus{Label: e.Label, Host: e.Host, Nodes: e.Nodes, State: state(e, st.Semaphore > 0)})
	}
	return st
}

func state(e core.Entrance, semaphore bool) string {
	switch {
	case e.Phase == core.Through && e.Leaving:
		return "leaving"
	case e.Phase == core.Through && semaphore:
		return "holding"
	case e.Phase == core.Through && e.Late:
		return "late"
	case e.Phase == core.Through:
		return "through"
	case e.Phase == core.TurnedOut:
		return "told to catch up"
	case e.Phase == core.Left:
		return "left"
	case e.Phase == core.Expired:
		return "expired"
	}
	return "waiting"
}

// Letters returns how many messages about barriers a member has received from others: the
// cost of barriers to it.
func Letters(ctx context.Context, n *cluster.Node, id phalanx.NodeID) (uint64, error) {
	pid, ok := n.ServiceOn(id, Name)
	if !ok {
		return 0, &phalanx.Error{Op: "barrier letters", Node: id, Kind: phalanx.ErrInvalid, Err: errors.New("the node is no member that has the service")}
	}
	m, err := look(ctx, n, pid)
	return m.GetLetters(), err
}

// lookFor bounds how long one member may take to list its barriers.
const lookFor = 2 * time.Second

func seenOn(ctx context.Context, n *cluster.Node, pid *actor.PID) ([]core.Seen, error) {
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	m, err := look(ctx, n, pid)
	if err != nil {
		return nil, err
	}
	return messages.BarriersSeenFromProto(m)
}

// look asks a member, or this node itself.
func look(ctx context.Context, n *cluster.Node, pid *actor.PID) (*messages.BarrierLooked, error) {
	r, err := n.Request(ctx, pid, &messages.BarrierLook{})
	if err != nil {
		return nil, err
	}
	m, ok := r.(*messages.BarrierLooked)
	if !ok {
		return nil, fmt.Errorf("the node answers with a %T", r)
	}
	return m, nil
}

// ManagersOf returns the members that manage the barriers called name, the primary
// first, with the default settings.
func ManagersOf(v view.View, name string) []phalanx.NodeID {
	return core.ManagersOf(member.ForBarriers(Name, v.Members[0].ID, v), name)
}
