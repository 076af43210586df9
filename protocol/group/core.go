package group

import (
	"maps"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/agenda"
)

// Config has the settings of a node's part in all groups.
type Config struct {
	Resend    time.Duration // after which an unanswered message is repeated, if answers do not take longer now, then less often; 0: 50 ms
	ResendMax time.Duration // after which at most, or twice that where very much is repeated; 0: 1 s
}

// Event is an input of a Core: one of these, or a call.
type Event interface{ event() }

type (
	// Viewed is a new view. Members are the nodes that have the service.
	Viewed struct {
		Self    phalanx.NodeID // this node's present incarnation
		Number  uint64
		Members map[phalanx.NodeID]bool
	}

	// Heard is a message of another node.
	Heard struct {
		From    phalanx.NodeID
		Message Message
	}

	// Tick says that time has passed.
	Tick struct{}
)

func (Viewed) event() {}
func (Heard) event()  {}
func (Tick) event()   {}

// Output is an effect of a Core.
type Output interface{ output() }

type (
	// Send sends a message to another node.
	Send struct {
		To      phalanx.NodeID
		Message Message
	}

	// Revoked tells that a group is revoked at members here.
	Revoked struct {
		Group string
		Life  uint64
		Ranks []int
		Revocation
	}

	// Failed tells that members of a group have failed: their node is no member of the
	// cluster any more, or they have left the group.
	Failed struct {
		Group string
		Life  uint64
		Ranks []int
		Left  bool
	}

	// Ended tells that this node was removed from the cluster, and is not in the group
	// any more.
	Ended struct{ Group string }
)

func (Send) output()    {}
func (Revoked) output() {}
func (Failed) output()  {}
func (Ended) output()   {}

// Core is a node's part in all groups.
type Core struct {
	cfg    Config
	now    time.Duration
	view   Viewed
	fence  uint64 // Invariant: messages of an earlier term are not heeded
	groups map[string]*group
	calls  map[uint64]*call
	held   map[string][]uint64 // Forms that wait for the end of an earlier group of that name
	nonces uint64
	due    agenda.Agenda[errand] // messages to repeat if they are not answered
	peers  map[phalanx.NodeID]peer
	out    []Output
	own    []Message // to this node, not handled yet

	inviting
	telling
	counting
	rooms
}

// group is a group that this node knows.
type group struct {
	name    string
	life    uint64 // tells groups of one name apart; 0: the coordinator has not said it yet
	try     uint64 // the same for this node's attempts to form it
	of      string // the group that it came of by a Shrink
	ofSeq   uint64
	roster  *Roster
	formed  bool
	claim   claim
	decline bool // the name stands for other members elsewhere: it cannot be formed
	local   []int
	taken   map[int]bool       // local ranks that a caller has formed
	failed  map[int]bool       // ranks whose failure was told
	gone    map[int]bool       // ranks that have left
	wave    map[int]Revocation // local ranks that have heard of the revoke
	sent    int                // messages of waves
	next    map[int]uint64     // by local rank: the next agreement
	agreed  map[uint64]*agreement
	over    uint64            // agreements below are over, and forgotten
	early   map[string][]News // of this group, and of groups that will come of it
	kept    int               // Invariant: how many news early has
	bytes   int64             // as was counted

	nodes    []phalanx.NodeID // except nodes that had failed when it was formed
	liveList []phalanx.NodeID // the live nodes in view liveIn
	liveIn   uint64
}

// NewCore returns a node's part before it is in a view.
func NewCore(cfg Config) *Core {
	if cfg.Resend == 0 {
		cfg.Resend = 50 * time.Millisecond
	}
	if cfg.ResendMax == 0 {
		cfg.ResendMax = time.Second
	}
	return &Core{cfg: cfg, groups: map[string]*group{}, calls: map[uint64]*call{}, held: map[string][]uint64{}, peers: map[phalanx.NodeID]peer{},
		counting: counting{touched: map[*group]struct{}{}, rosters: map[uint64]*shared{}},
		inviting: inviting{invites: map[string]Invite{}}, telling: telling{owed: map[phalanx.NodeID]map[uint64]*owed{}}}
}

// Step takes an event at now and returns the effects, in the order of execution.
func (c *Core) Step(now time.Duration, e Event) []Output {
	c.out, c.now = nil, max(c.now, now)
	switch e := e.(type) {
	case Viewed:
		c.viewed(e)
	case Heard:
		c.heard(e.From, e.Message)
	case GiveUp:
		c.giveUp(e.ID)
	case Call:
		c.called(e)
	}
	c.drain()
	c.repeat()
	c.drain()
	c.count()
	c.fit()
	return c.out
}

// drain takes this node's messages to itself.
func (c *Core) drain() {
	for len(c.own) > 0 {
		m := c.own[0]
		c.own = c.own[1:]
		c.heard(c.view.Self, m)
	}
}

// Due returns when a Tick is wanted.
func (c *Core) Due() (at time.Duration, ok bool) {
	return c.due.Due()
}

// errand names messages to repeat: news to a node, or the messages of an agreement's
// contributors, or of its coordinator.
type errand struct {
	to  phalanx.NodeID // not empty: news
	num uint64         // of the news, or the agreement

	group string
	urge  bool // by the coordinator
	join  bool // a join timeout of it has passed
	end   bool // of a note that the members' lists differ, or of a group that no caller forms
}

func (c *Core) emit(o Output) { c.out = append(c.out, o) }

// send sends m; to this node itself by way of own, and to a node that is no member not at
// all.
func (c *Core) send(to phalanx.NodeID, m Message) {
	switch {
	case to == c.view.Self:
		c.own = append(c.own, m)
	case c.view.Members[to]:
		c.emit(Send{To: to, Message: m})
	}
}

// repeat sends unanswered messages again.
func (c *Core) repeat() {
	for e, ok := c.due.Take(c.now); ok; e, ok = c.due.Take(c.now) {
		if e.to != "" {
			c.tellAgain(e)
			continue
		}
		g := c.groups[e.group]
		if g == nil || g.agreed[e.num] == nil {
			continue
		}
		c.touch(g)
		switch a := g.agreed[e.num]; {
		case e.end:
			c.expire(g, a)
		case e.join:
			c.weigh(g, a)
		case e.urge && c.deserted(g, a):
			c.drop(g)
		case !e.urge && a.open() && !c.saysAgain(g, a):
			c.due.Set(e, c.sayAt(g, a))
		case !e.urge && a.open():
			c.say(g, a, c.coordinator(g))
		case e.urge && a.ballot != nil && a.decided == nil:
			c.urgeAgain(g, a)
		}
	}
}

func (c *Core) heard(from phalanx.NodeID, m Message) {
	if !c.view.Members[from] {
		return // not yet, or not any more
	}
	if c.odd(m) {
		return
	}
	c.touch(c.groups[about(m)])
	switch m := m.(type) {
	case Contribute:
		c.contributed(from, m)
	case Ask:
		c.asked(from, m)
	case Standing:
		c.standing(from, m)
	case Propose:
		c.proposed(from, m)
	case Accept:
		c.accepted(from, m)
	case Decide:
		g := c.groups[m.Group]
		if g == nil || g.agreed[m.Seq] == nil {
			return
		}
		if m.Seq == 0 && !g.formed && m.Try != 0 && (m.Try == g.try || m.Try == g.life) { // it answers this attempt
			g.life = m.Life
		}
		if g.life == m.Life {
			c.decide(g, g.agreed[m.Seq], m.Decision)
		}
	case Declined:
		if g := c.groups[m.Group]; g != nil && !g.formed && g.life == m.Life {
			c.declined(g)
		}
	case Tell:
		if c.told(m.News) {
			c.send(from, Ack{m.Num})
		}
	case Ack:
		c.acked(from, m.Num)
	}
}

// viewed takes a view.
func (c *Core) viewed(v Viewed) {
	if v.Number <= c.view.Number && v.Self == c.view.Self {
		return
	}
	old := c.view
	c.view, c.fence = v, max(c.fence, v.Number)
	if old.Self != "" && old.Self != v.Self {
		c.removed()
		return
	}
	c.forgetGone()
	for _, name := range slices.Sorted(maps.Keys(c.groups)) {
		g := c.groups[name]
		c.touch(g)
		c.notice(g)
		for _, seq := range slices.Sorted(maps.Keys(g.agreed)) {
			a := g.agreed[seq]
			c.reopen(g, a)
			if a.decided != nil {
				c.decide(g, a, *a.decided) // of this view
			}
			if a.open() {
				a.sending = false
				a.said.Answered() // the coordinator may learn of the view a little later
				c.contribute(g, a, c.coordinator(g))
			}
		}
		c.retire(g)
	}
}

// removed ends everything: the others go on without this node.
func (c *Core) removed() {
	for _, id := range slices.Sorted(maps.Keys(c.calls)) {
		c.finish(c.calls[id], Done{Outcome: Removed})
	}
	for _, name := range slices.Sorted(maps.Keys(c.groups)) {
		c.emit(Ended{name})
	}
	c.groups, c.held, c.owed = map[string]*group{}, map[string][]uint64{}, map[phalanx.NodeID]map[uint64]*owed{}
	c.invites = map[string]Invite{}
	c.ofGroups, c.ofNews, c.rosters = 0, 0, map[uint64]*shared{}
	c.due = agenda.Agenda[errand]{}
}

// know notes a group.
func (c *Core) know(name string, r *Roster) *group {
	g := &group{name: name, try: c.nonce(), early: map[string][]News{}, roster: c.share(r), nodes: r.nodes, local: r.RanksOn(c.view.Self), taken: map[int]bool{}, failed: map[int]bool{}, gone: map[int]bool{},
		wave: map[int]Revocation{}, next: map[int]uint64{}, agreed: map[uint64]*agreement{}}
	for _, rank := range g.local {
		g.next[rank] = 1 // 0 forms it
	}
	c.groups[name] = g
	c.touch(g)
	g.agreement(0)
	c.due.Set(errand{group: name, end: true}, c.now+forgetAfter)
	return g
}

// notice tells of members whose nodes are gone.
func (c *Core) notice(g *group) {
	if !g.formed {
		return
	}
	var ranks []int
	for _, node := range g.roster.nodes {
		if c.view.Members[node] {
			continue
		}
		for _, rank := range g.roster.ranks[node] {
			if !g.failed[rank] {
				g.failed[rank] = true
				ranks = append(ranks, rank)
			}
		}
	}
	if len(ranks) > 0 && len(g.local) > 0 {
		slices.Sort(ranks)
		c.emit(Failed{Group: g.name, Life: g.life, Ranks: ranks})
	}
}

// leave notes that members have left.
func (c *Core) leave(g *group, ranks []int) {
	var left []int
	for _, rank := range ranks {
		if rank < 0 || rank >= g.roster.Len() || g.gone[rank] {
			continue
		}
		g.gone[rank] = true
		if !g.failed[rank] {
			g.failed[rank] = true
			left = append(left, rank)
		}
	}
	if len(left) == 0 {
		return
	}
	if g.formed && len(g.local) > 0 {
		c.emit(Failed{Group: g.name, Life: g.life, Ranks: left, Left: true})
	}
	for _, seq := range slices.Sorted(maps.Keys(g.agreed)) {
		c.weigh(g, g.agreed[seq]) // no caller waits for them any more
	}
}

// retire forgets a group that has no members left.
func (c *Core) retire(g *group) {
	if c.groups[g.name] == g && !slices.ContainsFunc(c.live(g), func(node phalanx.NodeID) bool { return g.on(node) }) {
		c.drop(g)
	}
}

// on reports whether members on a node have neither left nor failed.
func (g *group) on(node phalanx.NodeID) bool {
	return slices.ContainsFunc(g.roster.ranks[node], func(rank int) bool { return !g.failed[rank] })
}

// coordinator returns the node that has agreements of g decided in this view, the node of
// the lowest live rank; "" if none is live.
func (c *Core) coordinator(g *group) phalanx.NodeID {
	if live := c.live(g); len(live) > 0 {
		return live[0]
	}
	return ""
}

// live returns the nodes of g that are members of the cluster. A node that was none when g was
// formed, and has become one since, does not take part: it may know nothing of g.
func (c *Core) live(g *group) []phalanx.NodeID {
	if g.liveIn == c.view.Number && g.liveIn > 0 {
		return g.liveList
	}
	var all []phalanx.NodeID
	for _, node := range g.nodes {
		if c.view.Members[node] {
			all = append(all, node)
		}
	}
	g.liveList, g.liveIn = all, c.view.Number
	return all
}
