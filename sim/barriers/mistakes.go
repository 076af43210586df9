package barriers

import "github.com/phalanx-go/phalanx/protocol/barrier"

// Mistake is one that is made on purpose.
type Mistake uint8

// The mistakes.
const (
	None           Mistake = iota
	ForgetsState           // who is asked what it knows says nothing
	SendsNoState           // a new backup does not get the state, and does not say that it lacks it
	ForgetsHolders         // a node does not say who holds semaphores there
	ActsAlone              // a primary does not wait for its backups, which know nothing
	HalvesState            // a new backup takes the first piece of a state for all of it
	ForgetsWaiting         // a node does not say that managers which are gone may have counted who waits there
	HidesConfig            // a primary says of a barrier that somebody has entered that nobody has
	ForgetsFired           // nobody says of a barrier that is forgotten that it has fired
	LeavesAlone            // a new backup believes that all who are inside a double barrier leave
	ForgetsTombs           // a new primary does not know who had come before a barrier was removed
	mistakes
)

// bend makes the mistake in a message.
func (m Mistake) bend(msg barrier.Message) barrier.Message {
	switch x := msg.(type) {
	case barrier.Gathered:
		for i := range x.Replicas {
			m.spoil(&x.Replicas[i].State)
		}
		if m == ForgetsState {
			x.Replicas = nil
		}
		if m == ForgetsHolders {
			x.Reached = nil
		}
		if m == ForgetsWaiting {
			for _, r := range x.Reached {
				forgetWaiting(r.Requests)
			}
		}
		return x
	case barrier.Replicate:
		if x.State != nil {
			m.spoil(x.State)
		}
		if m == SendsNoState {
			x.State = nil
		}
		if s := x.State; m == HalvesState && s != nil && x.From == 0 {
			x.Total = len(s.Entrances) + len(s.Queue) + len(s.Holders) + len(s.Asks) + len(s.Adaptive.Took)
		}
		return x
	case barrier.Confirm:
		if m == SendsNoState {
			x.Need = false
		}
		if m == ForgetsFired {
			x.Fired = nil
		}
		return x
	case barrier.Over:
		if m == ForgetsFired {
			x.Crowds = nil
		}
		return x
	case barrier.Opened:
		if m == HidesConfig {
			x.Config = barrier.Config{}
		}
		return x
	case barrier.Reached:
		if m == ForgetsHolders {
			for i := range x.Requests {
				x.Requests[i].Holds = false
			}
		}
		if m == ForgetsWaiting {
			forgetWaiting(x.Requests)
		}
		return x
	}
	return msg
}

func forgetWaiting(all []barrier.Request) {
	for i := range all {
		all[i].Waits = false
	}
}

// spoil makes the mistake in a state.
func (m Mistake) spoil(s *barrier.State) {
	if m == LeavesAlone {
		for i := range s.Entrances {
			s.Entrances[i].Leaving = s.Entrances[i].Phase == barrier.Through
		}
	}
	if m == ForgetsTombs {
		s.Tombs = nil
	}
}
