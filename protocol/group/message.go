package group

// Message is a message between nodes.
type Message interface{ message() }

type (
	// Contribute sends a coordinator the contributions of a node's members to an agreement.
	Contribute struct {
		Group  string
		Life   uint64 // as the coordinator has said; 0: the sender asks for it
		Seq    uint64
		View   uint64 // that the node knows
		Parts  []Part
		Gone   []int   // members there that have left
		Roster *Roster // of a group that is being formed
		Try    uint64  // tells the sender's attempts to form it apart
		Idle   bool    // no caller waits for the result
	}

	// Ask asks for a Contribute. Roster is the digest of the roster that the
	// coordinator goes by.
	Ask struct {
		Group  string
		Life   uint64
		Seq    uint64
		Roster uint64
	}

	// Standing answers a Contribute with the members that have not contributed yet. A Contribute
	// that was not of the present life did not count. A Life of 0 says that the sender is forming
	// no group of that life; it also answers a Propose.
	Standing struct {
		Group  string
		Life   uint64
		Of     uint64 // the life in the Contribute
		Try    uint64 // the attempt that it is of
		Seq    uint64
		Absent []int
	}

	// Propose asks a node to accept a decision. Term is the coordinator's view. Roster is
	// for a node that may not know the group: it has contributed nothing to its forming.
	Propose struct {
		Group    string
		Life     uint64
		Seq      uint64
		Term     uint64
		Decision Decision
		Roster   *Roster
	}

	// Accept says that the sender has accepted the proposal of Term.
	Accept struct {
		Group string
		Life  uint64
		Seq   uint64
		Term  uint64
	}

	// Decide tells the decision.
	Decide struct {
		Group    string
		Life     uint64
		Seq      uint64
		Try      uint64 // of the Contribute, or life of the Ask, that it answers
		Decision Decision
	}

	// Declined says that the group of a Contribute or an Ask cannot be: the name
	// stands for other members.
	Declined struct {
		Group string
		Life  uint64 // of the Contribute or Ask
	}

	// Tell is repeated until it is acknowledged, or its receiver is no member any
	// more.
	Tell struct {
		Num  uint64
		News News
	}

	// Ack acknowledges a Tell.
	Ack struct{ Num uint64 }
)

func (Contribute) message() {}
func (Ask) message()        {}
func (Standing) message()   {}
func (Propose) message()    {}
func (Accept) message()     {}
func (Decide) message()     {}
func (Declined) message()   {}
func (Tell) message()       {}
func (Ack) message()        {}

// Part is a member's contribution to an agreement.
type Part struct {
	Rank int
	Contribution
}

// News is the content of a Tell.
type News interface{ news() }

type (
	// Revoke is the wave of a revoke: one message for each of Hops.
	Revoke struct {
		Named
		Revocation
		Hops []Hop
	}

	// Gone tells that members have left a group.
	Gone struct {
		Named
		Ranks []int
	}

	// Invite tells a newcomer's node of a group that is being formed.
	Invite struct {
		Group  string
		Roster *Roster
		Rank   int
	}
)

func (Revoke) news() {}
func (Gone) news()   {}
func (Invite) news() {}

// Named names the group of a piece of news. A node that knows the parent group may not know yet
// the group that came of its Shrink.
type Named struct {
	Group string
	Life  uint64
	Of    string // the group that it came of, if that was a Shrink
	Seq   uint64 // the number of that Shrink
}

// Hop is a message of a wave from one rank to another.
type Hop struct{ From, To int }

// Revocation names the member that has revoked a group, and its reason.
type Revocation struct {
	By     int    `json:"by"` // rank
	Reason string `json:"reason,omitempty"`
	At     int64  `json:"at"` // when, by the clock of that node, in nanoseconds since 1970
}

// Purpose is the purpose of an agreement.
type Purpose uint8

// The purposes.
const (
	ForForm Purpose = iota + 1
	ForAgree
	ForShrink
	ForGrow
)

// String returns the name of the call.
func (p Purpose) String() string {
	switch p {
	case ForForm:
		return "form"
	case ForAgree:
		return "agree"
	case ForShrink:
		return "shrink"
	case ForGrow:
		return "grow"
	}
	return "unknown"
}

// Op folds the values of an Agree.
type Op uint8

// The ops.
const (
	And Op = iota + 1 // bit by bit
	Or
	Min
	Max
)

// Valid reports whether there is such an op.
func (o Op) Valid() bool { return o >= And && o <= Max }

// String returns the name of o.
func (o Op) String() string {
	if !o.Valid() {
		return "unknown"
	}
	return [...]string{And: "and", Or: "or", Min: "min", Max: "max"}[o]
}

func (o Op) fold(a, b int64) int64 {
	switch o {
	case And:
		return a & b
	case Or:
		return a | b
	case Min:
		return min(a, b)
	}
	return max(a, b)
}

// Contribution is a call's contribution.
type Contribution struct {
	For       Purpose
	Value     int64    // of an Agree
	Op        Op       // of an Agree
	Acked     []int    // failed ranks that the member has acknowledged
	Newcomers []Member // of a Grow
	Quorum             // of a Form
}

// Decision is the result of an agreement.
type Decision struct {
	For            Purpose
	View           uint64 // in which it was made
	Mismatch       string // the difference between the calls: then there is nothing else
	Value          int64
	Failed         []int // ranks that had failed, or had left; of a Form with a quorum also ranks that had not come
	Unacknowledged []int // failed ranks that not all have acknowledged
	Group          string
	Roster         *Roster // of Group, which comes of a Shrink or a Grow
}
