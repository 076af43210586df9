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
	mistakes
)

// bend makes the mistake in a message.
func (m Mistake) bend(msg barrier.Message) barrier.Message {
	switch x := msg.(type) {
	case barrier.Gathered:
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
