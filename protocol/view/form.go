package view

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx"
)

// Where the majority of the voters is lost and does not come back, an operator has one of
// the living nodes form the cluster anew:
//
//  1. It asks all members of its view to halt (halt.go), again and again. Their answers bring
//     it the newest view that any of them has.
//  2. When all have promised it, or after formPatience when a majority of the members has, it
//     waits until no lease can be left that one of them has given, and makes the first view of
//     a later form: without the members that have not answered, and with itself as the only
//     voter of a new raft group (formed.go).
//  3. From then on it leads like any other leader: it pushes the view, adds voters, and
//     reminds the members that were missing.
//
// A member in whose view the majority of the voters is well does not halt, and then nothing
// is formed, whatever the others say. A node of an earlier form that comes back learns the
// later view from the first message that it exchanges with a node that has it, and is fenced
// if it is no member there. It counts neither leases, nor views, nor raft's messages of
// another form than its own.
//
// Two nodes that are told to form at the same time do not both get promises of most members:
// the one with the earlier form gives way as soon as it hears of the other one.
// A node whose form is not the latest any more takes a later one and asks again. So of two
// formings with a promise of the same member the later one prevails.
const (
	formPatience = 2 * time.Second // how long a node waits for silent members
	formWithin   = 5 * time.Second // after its promise a member counts for so long

	formTerms  = 1 << 20 // by so much the new group's term is above all that are known
	formEpochs = 1 << 16 // likewise the epochs of the shards
)

// forming is the knowledge of a node that forms the cluster anew.
type forming struct {
	force bool // the members that have answered are enough
	form  Form
	begun time.Duration
	asked time.Duration
	last  time.Duration // when the last member has promised

	answers map[phalanx.NodeID]Halted // to form, the last of each
	term    uint64
	gone    []phalanx.NodeID
}

// startForming begins to form the cluster anew, or says why not.
func (c *Core) startForming(force bool) {
	if f := c.forming; f != nil {
		if force && !f.force {
			f.force = true
			c.takeForm(c.latestForm())
		}
		return
	}
	switch {
	case !c.member:
		c.notFormed(phalanx.ErrUnavailable, "", errors.New("this node is not a member of the cluster"))
		return
	case !c.alarm.Lost:
		c.notFormed(phalanx.ErrRefused, c.cfg.Self.ID, fmt.Errorf("the node hears the majority of the voters %s: the cluster works, and needs no other view", list(c.view.Voters)))
		return
	}
	c.forming = &forming{force: force, begun: c.now}
	if p := c.promise; p.to == c.cfg.Self.ID && p.form > c.view.Form() && p.form.forced() == force {
		c.askToHalt(c.promise.form) // it has asked before
		return
	}
	c.takeForm(c.latestForm())
}

// takeForm asks all members to halt for a later form than latest.
func (c *Core) takeForm(latest Form) {
	form, err := latest.after(c.cfg.Self.ID, c.forming.force)
	if err != nil {
		c.notFormed(phalanx.ErrRefused, c.cfg.Self.ID, err)
		return
	}
	c.askToHalt(form)
}

func (c *Core) askToHalt(form Form) {
	f := c.forming
	f.form, f.last, f.answers = form, c.now, map[phalanx.NodeID]Halted{}
	c.askAgain()
}

// askAgain asks all, also members that have promised: a view that the old voters have decided may
// have reached one of them only now.
func (c *Core) askAgain() {
	f, self := c.forming, c.cfg.Self.ID
	f.asked = c.now
	f.answers[self] = Halted{Form: f.form, Stamp: c.now, Why: c.halt(self, f.form), Promised: c.latestForm(), To: c.promise.to}
	for _, m := range c.view.Members {
		if m.ID != self {
			c.emit(SendHalt{To: m.ID, Halt: Halt{Form: f.form, Stamp: c.now, View: c.view.Number}})
		}
	}
}

func (c *Core) hearHalted(from phalanx.NodeID, h Halted) {
	if c.forming == nil {
		return
	}
	if err := h.valid(); err != nil {
		c.reject(from, err)
		return
	}
	if h.View.Number > 0 {
		c.learn(Learn{From: from, View: h.View}) // which may end this
	}
	f := c.forming
	if f == nil || c.fenced || h.Form != f.form || h.Stamp > c.now || h.Stamp < f.begun { // an earlier command may have had the same form
		return
	}
	for _, id := range h.Gone {
		if !slices.Contains(f.gone, id) {
			f.gone = append(f.gone, id)
		}
	}
	f.term = max(f.term, h.Term)
	if h.Why == KnowsLater && h.Promised >= f.form {
		c.takeForm(h.Promised)
		return
	}
	if h.Why == NoMember {
		c.push(from) // it lags behind, and halts once it knows of this node
	}
	if was, ok := f.answers[from]; h.Why == Halts && !(ok && was.Why == Halts) {
		f.last = c.now
	}
	f.answers[from] = h
}

func (h Halted) valid() error {
	switch {
	case h.Why > MaxHaltRefusal:
		return fmt.Errorf("%d is no known reason to refuse a halt", h.Why)
	case h.Promised > maxNumber>>counterBits || h.Term > 1<<62:
		return fmt.Errorf("there is no form %d, or term %d", h.Promised, h.Term)
	case len(h.Gone) > maxGone:
		return fmt.Errorf("%d nodes were removed, at most %d are remembered", len(h.Gone), maxGone)
	}
	return nil
}

// tickForming forms the cluster once enough members have promised to halt, or gives up.
func (c *Core) tickForming() {
	f := c.forming
	if f == nil {
		return
	}
	if c.now-f.asked >= c.cfg.HeartbeatEvery {
		c.askAgain()
	}
	promised, missing := c.promises()
	if c.now-f.last < c.cfg.LeaseFor || len(missing) > 0 && c.now-f.begun < formPatience {
		return
	}
	for _, id := range append([]phalanx.NodeID{c.cfg.Self.ID}, missing...) {
		switch answer := f.answers[id]; answer.Why {
		case HearsMajority:
			c.notFormed(phalanx.ErrRefused, id, errors.New("the node hears the majority of the voters: the cluster works, and needs no other view; where this node does not hear it, look for the link that fails"))
			return
		case HaltsForOther:
			c.notFormed(phalanx.ErrRefused, id, fmt.Errorf("%s forms the cluster anew just now: look at its result, or try again after %v", answer.To, haltFor))
			return
		}
	}
	if all := len(c.view.Members); !f.force && 2*len(promised) <= all {
		c.notFormed(phalanx.ErrUnavailable, c.cfg.Self.ID, fmt.Errorf("%d of %d members answer, and %d are needed; missing: %s. Start the command where more nodes answer; or use --force, if the others will not come back",
			len(promised), all, all/2+1, strings.Trim(list(missing), "[]")))
		return
	}
	c.formAnew(promised)
}

// promises returns the members that halt for this node now, and the others.
func (c *Core) promises() (promised, missing []phalanx.NodeID) {
	for _, m := range c.view.Members {
		answer, ok := c.forming.answers[m.ID]
		if ok && answer.Why == Halts && c.now-answer.Stamp <= formWithin {
			promised = append(promised, m.ID)
		} else {
			missing = append(missing, m.ID)
		}
	}
	return promised, missing
}

// formAnew makes the first view of the form, with the members living.
func (c *Core) formAnew(living []phalanx.NodeID) {
	f, old := c.forming, c.view
	if c.voter != nil {
		for _, id := range c.voter.state.Gone {
			if !slices.Contains(f.gone, id) {
				f.gone = append(f.gone, id)
			}
		}
	}
	first := state{View: old, Gone: f.gone}.formed(c.cfg.Self.ID, f.form, living)
	term := max(f.term, c.latestTerm()) + formTerms
	c.forming = nil
	c.forsake()
	c.emit(Formed{View: first.View})
	c.bootVoter(first, term)
	c.know(first.View)
	c.campaign()
	c.settle()
	for _, m := range first.View.Missing {
		c.push(m.ID)
	}
}

// forsake leaves the group of the form that this node was in. It keeps its lease, which
// has ended at every member that halts.
func (c *Core) forsake() {
	c.voter, c.lead, c.election = nil, nil, election{}
	c.leader, c.term = "", 0
	c.hearLeader()
	c.promise.until = 0
}

// enterForm is told that this node has learned a view of a later form.
func (c *Core) enterForm(v View) {
	c.forsake()
	if c.forming != nil {
		c.notFormed(phalanx.ErrRefused, v.Former, fmt.Errorf("the node has formed the cluster anew already: view %s", Numbered(v.Number)))
	}
}

func (c *Core) notFormed(kind phalanx.Kind, node phalanx.NodeID, err error) {
	if f := c.forming; f != nil {
		c.forming = nil
		c.release(f)
	}
	c.emit(NotFormed{Err: &phalanx.Error{Op: "recover", Node: node, Kind: kind, Err: err}})
}

// release tells all that they need not halt any more.
func (c *Core) release(f *forming) {
	if c.promise.to == c.cfg.Self.ID {
		c.promise.until = 0
	}
	for _, m := range c.view.Members {
		if m.ID != c.cfg.Self.ID {
			c.emit(SendHalt{To: m.ID, Halt: Halt{Form: f.form, Stamp: c.now, Release: true}})
		}
	}
}

// remindEvery is how often the leader lets the members that were missing when the cluster
// was formed anew know that there is a later view, in case they come back. Most of the old
// voters could go on among themselves for as long as they hear of no other node.
const remindEvery = time.Second

func (c *Core) remindMissing() {
	if len(c.view.Missing) == 0 || c.now-c.lead.reminded < remindEvery {
		return
	}
	c.lead.reminded = c.now
	for _, m := range c.view.Missing {
		c.emit(SendBeat{To: m.ID, Beat: Beat{View: c.view.Number, Stamp: c.now}})
	}
}

// askForView has a node that has a later form push its view.
func (c *Core) askForView(node phalanx.NodeID) {
	c.emit(SendBeat{To: node, Beat: Beat{View: c.view.Number, Stamp: c.now}})
}
