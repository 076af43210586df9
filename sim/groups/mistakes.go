package groups

import "github.com/phalanx-go/phalanx/protocol/group"

// Mistake is one that is made on purpose.
type Mistake uint8

// The mistakes.
const (
	None         Mistake = iota
	DecidesAlone         // a coordinator does not wait until all have accepted
	ForgetsGone          // who leaves a group says so to nobody
	TellsNobody          // who hears of a revoke does not tell its neighbours
	NotRepeated          // news counts as acknowledged that has not come
	FormsAlone           // a coordinator does not ask nodes whose members have not called Form
	OmitsRoster          // a coordinator proposes a group to such nodes without its members
	HidesAbsent          // a decision to form a group does not name the members that have not come
	mistakes
)

// bend makes the mistake in a message: it is another one, or none, and there may be
// answers that nobody has given.
func (m Mistake) bend(msg group.Message) (out group.Message, answers []group.Message) {
	switch x := msg.(type) {
	case group.Contribute:
		if m == ForgetsGone {
			x.Gone = nil
		}
		return x, nil
	case group.Propose:
		if m == DecidesAlone {
			return x, []group.Message{group.Accept{Group: x.Group, Life: x.Life, Seq: x.Seq, Term: x.Term}}
		}
		if m == FormsAlone && x.Roster != nil {
			return nil, []group.Message{group.Accept{Group: x.Group, Life: x.Life, Seq: x.Seq, Term: x.Term}}
		}
		if m == OmitsRoster {
			x.Roster = nil
		}
		return x, nil
	case group.Decide:
		if m == HidesAbsent && x.Decision.For == group.ForForm {
			x.Decision.Failed = nil
		}
		return x, nil
	case group.Tell:
		if m == NotRepeated {
			return x, []group.Message{group.Ack{Num: x.Num}}
		}
		if _, ok := x.News.(group.Gone); ok && m == ForgetsGone {
			return nil, []group.Message{group.Ack{Num: x.Num}}
		}
		if r, ok := x.News.(group.Revoke); ok && m == TellsNobody && r.Hops[0].From != r.By {
			return nil, []group.Message{group.Ack{Num: x.Num}}
		}
	}
	return msg, nil
}
