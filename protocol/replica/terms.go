package replica

// Terms is which primaries a node heeds.
type Terms struct {
	Term uint64 // the view in which the members were last others
	// Fence is the latest term that the node has promised to a primary.
	// Invariant: messages of an earlier term are refused.
	Fence uint64
}

// Promise is a member's answer to a primary that gathers.
type Promise uint8

// The promises.
const (
	Refuses  Promise = iota // there is a later term
	Promises                // it heeds no earlier primary any more
	Defers                  // it does not have that view yet, and will be asked again
)

// Outdated reports whether a primary of a term is to be refused, whatever it says.
func (t *Terms) Outdated(term uint64) bool { return term < t.Fence }

// Latest is the latest term that the node knows. It is sent with a refusal.
func (t *Terms) Latest() uint64 { return max(t.Term, t.Fence) }

// Lead has the node heed no primary of an earlier term than its own: it is one.
func (t *Terms) Lead() { t.Fence = t.Latest() }

// Gather takes the question of a primary that gathers in a term. view is the number of the node's view.
func (t *Terms) Gather(term, view uint64) Promise {
	switch {
	case term < t.Latest():
		return Refuses
	case term > view:
		return Defers
	}
	t.Fence = term
	return Promises
}

// Heeds reports whether a batch of a primary of a term is taken. After a view in which only other
// things have changed for the sender it may be the primary still, though its term is an earlier one.
func (t *Terms) Heeds(term uint64, primary bool) bool {
	return !t.Outdated(term) && (term >= t.Term || primary)
}

// Begins reports whether a term begins that another node has named: in a view that changed nothing
// for this node, it may be the primary still.
func (t *Terms) Begins(term, view uint64) bool { return term > t.Term && term <= view }
