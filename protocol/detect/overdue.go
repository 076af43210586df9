package detect

import (
	"maps"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
)

// answerIn is how long a member may take to say anything to this node, after that has
// sent it a question, before this node looks whether their link works. A tick sees that an
// answer is due, and plans the next tick for that time: an answered question causes no
// wake-up. So the look comes at the end of answerIn, or with the first tick after the
// question if that is later.
const answerIn = 200 * time.Millisecond

// Overdue notes which members owe this node an answer. Most pairs of members do not
// watch each other: if the link between two of them fails, their messages to each other
// get lost, and neither would notice until the link works again. It is not safe for
// concurrent use.
type Overdue struct {
	asked map[phalanx.NodeID]time.Duration // since when a member that was asked has said nothing
}

// NewOverdue returns an Overdue without due answers.
func NewOverdue() *Overdue { return &Overdue{asked: map[phalanx.NodeID]time.Duration{}} }

// Ask notes that node was sent, directly, a message that it has to answer.
func (o *Overdue) Ask(node phalanx.NodeID, now time.Duration) {
	if _, ok := o.asked[node]; !ok {
		o.asked[node] = now
	}
}

// Hear notes that something came from node directly, were it a heartbeat's echo.
func (o *Overdue) Hear(node phalanx.NodeID) { delete(o.asked, node) }

// Learn takes the members of a new view, and forgets former members.
func (o *Overdue) Learn(members []phalanx.NodeID) {
	maps.DeleteFunc(o.asked, func(id phalanx.NodeID, _ time.Duration) bool { return !slices.Contains(members, id) })
}

// At returns the nodes whose answers are overdue, ordered by their ids, and when the next one
// will be; 0 if no other node owes one.
func (o *Overdue) At(now time.Duration) (from []phalanx.NodeID, next time.Duration) {
	for id, at := range o.asked {
		switch due := at + answerIn; {
		case due <= now:
			from = append(from, id)
		case next == 0 || due < next:
			next = due
		}
	}
	slices.Sort(from)
	return from, next
}
