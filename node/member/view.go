package member

import (
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/view"
)

// Step is a step that the node takes when it learns a view.
type Step interface{ step() }

// The steps.
type (
	// Routes has the routes learn the members, before the other steps send anything.
	Routes struct{}
	// Requests has unanswered requests go to new owners.
	Requests struct{}
	// Replicas has the replicas that the node gains begin, and those that it loses end.
	Replicas struct{}
	// Lists has the node owe lists of its copies to new owners.
	Lists struct{}
	// Events has the application hear the Changes, before the detector forgets why it
	// suspected a node that is gone.
	Events struct{}
	// Detector has the detector learn the members and the voters.
	Detector struct{}
	// Services has the services learn the view.
	Services struct{}
	// Leaving has the coordinators of Reduces hear which members are about to leave.
	Leaving struct{ Nodes []phalanx.NodeID }
	// Gone has the node break with one that is no member any more: it refuses its messages,
	// has coordinators replace its places, before they hear of a broken connection, and closes the
	// connections for data. Then it closes the connections for actors' messages: Lingering later if
	// the other Lingers, since that ends them itself once it knows that it has left. They stay if
	// the process has come back meanwhile (At).
	Gone struct {
		Member  view.Member
		Lingers bool
	}
	// Leave has a Leave that is under way hear the view.
	Leave struct{}
	// Entered says that the node is a member.
	Entered struct{}
)

func (Routes) step()   {}
func (Requests) step() {}
func (Replicas) step() {}
func (Lists) step()    {}
func (Events) step()   {}
func (Detector) step() {}
func (Services) step() {}
func (Leaving) step()  {}
func (Gone) step()     {}
func (Leave) step()    {}
func (Entered) step()  {}

// Lingering is how long a node that has left may take to end its connections.
const Lingering = 2 * time.Second

// Learn returns the steps of self, whose last view was old, on the view v, in their order. The
// first view that a node learns has it as a member.
func Learn(self phalanx.NodeID, old, v view.View) []Step {
	steps := []Step{Routes{}, Requests{}, Replicas{}, Lists{}, Events{}, Detector{}}
	member := v.Has(self)
	if member {
		steps = append(steps, Services{})
	}
	_, leaving := v.IDs("")
	steps = append(steps, Leaving{leaving})
	for _, m := range old.Members {
		if !v.Has(m.ID) && m.ID != self { // the voters tell self that it is gone
			steps = append(steps, Gone{m, m.Leaving})
		}
	}
	if steps = append(steps, Leave{}); member {
		steps = append(steps, Entered{})
	}
	return steps
}

// At reports whether a member of v has the control address at.
func At(v view.View, at string) bool {
	return slices.ContainsFunc(v.Members, func(m view.Member) bool { return m.Control == at })
}
