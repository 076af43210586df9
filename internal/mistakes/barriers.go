package mistakes

// OfBarriers are the tests of barriers, which use packages with tests of their own.
const OfBarriers Finder = "protocol/barrier"

// inBarriers are mistakes of barriers.
var inBarriers = []Mistake{
	mistake("protocol/replica", "a confirmation of an earlier change counts for the present one",
		"protocol/replica/backups.go", "batch == b.batch &&", "batch.Term == b.batch.Term &&"),
	mistake(OfBarriers, "a confirmation of an earlier term counts",
		"protocol/replica/backups.go", "batch == b.batch &&", "batch.Seq == b.batch.Seq &&"),
	mistake(OfBarriers, "a node that stays after it has handed over does not gather what it manages again",
		"protocol/barrier/core.go", "		c.ignorant = true\n	} else if slices.Equal", "	} else if slices.Equal"),
	mistake(Tests, "a primary acts without a lease",
		"protocol/barrier/primary.go", `	if !c.ready(m.Key) || c.now >= c.leased {
`, `	if !c.ready(m.Key) {
`,
		"protocol/barrier/primary.go", "|| !c.gathering.Done() || c.now >= c.leased {", "|| !c.gathering.Done() {"),
	mistake(Tests, "a primary that has no lease drops requests",
		"protocol/barrier/core.go", `		if c.gathering.Done() && c.now < c.leased {
			c.hearEarly()
`, `		if c.gathering.Done() && c.now < c.leased {
			c.early = early{}
`),
	mistake(Tests, "a late copy of an entry that was withdrawn enters again",
		"protocol/barrier/rule.go", "op.Attempt <= attempt {", "op.Attempt < attempt {"),
	mistake(Tests, "a late entry goes on although the barrier has late entries catch up",
		"protocol/barrier/rule.go", `	case b.cfg.Late == CatchUp:
`, `	case false:
`),
	mistake(Tests, "a barrier fires at its percentage before MinWait",
		"protocol/barrier/rule.go", " && b.Now-b.Began >= b.cfg.MinWait", ""),
	mistake(Tests, "a withdrawal that overtakes its entry is forgotten",
		"protocol/barrier/rule.go", `	if !known { // it was overtaken, and does not enter later
		b.index[op.Entry] = len(b.Entrances)
		b.Entrances = append(b.Entrances, Entrance{Entry: op.Entry, Attempt: op.Attempt, Phase: Withdrawn, Since: b.Now})
	} else if`, `	if !known {
	} else if`),
	mistake(Tests, "an entry that has withdrawn at one node leaves at all nodes",
		"protocol/barrier/rule.go", "if e.went(op.Node); was > 0 && len(e.Nodes) == 0 {", "if e.went(op.Node); was > 0 {"),
	mistake(OfBarriers, "an older replica of a term is taken for the newest",
		"protocol/replica/copy.go", "v.Seq > than.Seq", "v.Seq < than.Seq"),
	mistake(OfBarriers, "a member answers a primary of an earlier term that gathers",
		"protocol/replica/terms.go", "	case term < t.Latest():\n", "	case false:\n"),
	mistake(OfBarriers, "an answer to an earlier question of a primary that gathers counts",
		"protocol/replica/gather.go", "p.Term != g.term || p.Stamp != g.Stamp {", "p.Term != g.term {"),
	mistake(OfBarriers, "a member does not begin an answer again whose first part was lost",
		"protocol/replica/tell.go", `	case q.Said != one.Said && one.Part > 0: // the primary has heard nothing of this answer, whose first part was lost
		return t.anew(now, from, q), TellAnew
`, ""),
	mistake(Tests, "a semaphore admits one too many",
		"protocol/barrier/semaphore.go", "len(b.Holders)+len(b.Asks) < b.level()", "len(b.Holders)+len(b.Asks) <= b.level()"),
	mistake(Tests, "an entry that waits for a semaphore at two nodes asks without end",
		"protocol/barrier/answers.go", `			c.overtaken(g, p)
`, `			c.attempt = max(c.attempt, a.Attempt) + 1
			p.attempt, p.stage = c.attempt, asking
`),
	mistake(Tests, "a participant believes a primary of an earlier term",
		"protocol/barrier/answers.go", "g != nil && !c.terms.Outdated(term) && term >= g.term", "g != nil"),
	mistake(Tests, "an answer about a withdrawn attempt counts for the next one",
		"protocol/barrier/answers.go", `a.Verdict == Deleted) && a.Attempt < p.attempt {
			return`, `a.Verdict == Deleted) && false {
			return`),
	mistake(Tests, "entries that no caller has asked for are not withdrawn",
		"protocol/barrier/answers.go", `	if !c.terms.Outdated(m.Term) {
		c.disown(g, m)
	}
`, ""),
	mistake(Tests, "an entry that is given up when its node's actor has begun anew counts",
		"protocol/barrier/entrant.go", "append(p.calls, e.ID), p.told || e.Again", "append(p.calls, e.ID), p.told"),
	mistake(Tests, "a node holds a semaphore without a lease",
		"protocol/barrier/answers.go", "	case c.now >= c.leased && (p.stage == asking || p.stage == waits):\n", "	case false:\n"),
	mistake(Tests, "a node without a lease that releases a semaphore and hears late that it is admitted waits for it again",
		"protocol/barrier/answers.go", "	case c.now >= c.leased && (p.stage == asking || p.stage == waits):\n", "	case c.now >= c.leased && p.stage != holds:\n"),
	mistake(Tests, "a question that is sent before its turn is asked once",
		"protocol/barrier/flush.go", "g.to, g.asked, g.held = to, c.now, false", "g.to, g.asked = to, c.now"),
	mistake(Tests, "a node that leaves does not ask primaries to take over",
		"protocol/barrier/handover.go", "if at, ok := c.handOverDue(); !ok || c.now < at {", "if true {"),
	mistake(Tests, "a node that leaves asks about the same barriers again and again",
		"protocol/barrier/handover.go", "	if len(h.keys) == 0 {\n		if h.keys", "	{\n		if h.keys"),
	mistake(Tests, "a primary says that a node that leaves is not needed before the backups have what it has",
		"protocol/barrier/handover.go", "r != nil && (r.flight != nil || len(r.pending) > 0) {", "false {"),
	mistake("protocol/leave", "a node goes while a service has something to hand over",
		"protocol/leave/event.go", "+len(h.Making)+len(h.Services) > 0", "+len(h.Making) > 0"),
	mistake("cluster HandOver", "a service that has not heard of the present view counts as one that has handed over",
		"protocol/leave/service.go", "s.Left > 0 || s.View < view", "s.Left > 0"),
	mistake(Tests, "a late copy of a Watch brings callbacks back",
		"protocol/barrier/primary.go", "	if m.Stamp < r.stamps[from] {", "	if false {"),
	mistake(Tests, "a primary knows that a barrier has fired only after its backups have forgotten it",
		"protocol/barrier/close.go", "	c.record(r) // already", "	// already"),
	mistake(Tests, "a node takes over a barrier of which it knows that it has fired",
		"protocol/barrier/manager.go", "if !c.outlived(best[k], age[k]) {", "if true {"),
	mistake(Tests, "a node takes over a barrier that has fired, since its name was removed long ago",
		"protocol/barrier/manager.go", "h.State.Anew <= clock &&", "h.State.Anew == 0 &&"),
	mistake(Tests, "a node that has not heard that a barrier was removed does not take over the next one of that name",
		"protocol/barrier/manager.go", "h.State.Anew <= clock &&", ""),
	mistake(Tests, "a primary that is new gathers only when somebody asks",
		"protocol/barrier/gather.go", "if c.ignorant && c.now >= c.leadAt() {", "if false {"),
	mistake(Tests, "one that withdraws too late from another incarnation is not inside",
		"protocol/barrier/rule.go", "		if e.Phase == Through { // the caller", "		if false { // the caller"),
	mistake(Tests, "leaving entries of a double barrier do not wait for staying ones",
		"protocol/barrier/double.go", " || b.someStay() {", " {"),
	mistake(Tests, "a Remove that comes twice ends the next barrier",
		"protocol/barrier/remove.go", "b.Removals[i].Attempt >= op.Attempt:", "b.Removals[i].Attempt > op.Attempt:"),
	mistake(Tests, "an old record says that a removed barrier has fired",
		"protocol/barrier/past.go", "if p.removed.Has(digest) {", "if false {"),
	mistake(Tests, "a member takes records of a sender whose view is newer",
		"protocol/barrier/spread.go", `	if m.View > c.view.Number {
		return // it is told again
	}
`, ""),
	mistake(Tests, "a primary that is not ready keeps messages without bound",
		"protocol/barrier/early.go", "!again && len(e.all) < earlyLimit && e.weight+weight <= earlyWeight", "!again"),
	mistake(Tests, "an entry enters again that managers who are gone may have counted",
		"protocol/barrier/flush.go", "p.counted = p.counted || p.told && !p.leave", "_ = p"),
	mistake(Tests, "a backup lets a primary go on that does not know that the barrier has fired",
		"protocol/barrier/copy.go", "	if len(m.Fired) > 0 {\n", "	if false {\n"),
	mistake(Barriers, "a member leaves its replicas out of its answer to a primary that gathers",
		"protocol/barrier/gather.go", "		g.Replicas = append(g.Replicas, h)\n", ""),
	mistake(OfBarriers, "a backup makes changes although it has missed earlier ones",
		"protocol/replica/copy.go", "v.Seq+1 == batch.Seq", "v.Seq < batch.Seq"),
	mistake(OfBarriers, "a backup makes changes of a primary of an earlier term",
		"protocol/replica/terms.go", "return !t.Outdated(term) && (term >= t.Term || primary)", "return true"),
	mistake(OfBarriers, "a backup makes the same changes twice",
		"protocol/replica/copy.go", "v.Seq >= batch.Seq", "v.Seq > batch.Seq"),
	mistake(Tests, "a primary acts before its backups have confirmed",
		"protocol/replica/backups.go", "		one.has, one.lacks = true, false\n", "		for i := range b.all {\n\t\t\tb.all[i].lacks = false\n\t\t}\n\t\tone.has = true\n"),
	mistake(Barriers, "a new backup takes the first piece of a state for all of it",
		"protocol/barrier/copy.go", "if one.Next(m.From, m.State.items(), m.Total) {", "if one.Next(m.From, m.State.items(), m.State.items()) {"),
	mistake(Tests, "a new primary admits entries before it knows who holds a semaphore",
		"protocol/barrier/manager.go", "range []bool{true, false} {", "range []bool{false} {"),
	mistake(Tests, "a new primary does not know which entries had come before a barrier was removed",
		"protocol/barrier/remove.go", "			b.entomb(Tomb{Entry: e.Entry, Node: node, Attempt: e.Tries[k], Verdict: v, At: b.Now})\n", "			_ = node\n\t\t\t_ = k\n"),
	mistake(OfBarriers, "a piece of an earlier state of a primary is added to the present one",
		"protocol/replica/arrive.go", "one.Batch == b {", "one.From == b.From && one.Term == b.Term {"),
	mistake(Tests, "an answer to an earlier withdrawal ends a later one",
		"protocol/barrier/answers.go", "case a.Verdict != Released || a.Attempt < p.left:", "case a.Verdict != Released:"),
	mistake(Tests, "members that are gone stay in a barrier of a new primary",
		"protocol/barrier/manager.go", "if n != \"\" && !slices.Contains(c.view.Members, n) {", "if false {"),
	mistake(Tests, "an Over that comes twice ends the present one",
		"protocol/barrier/spread.go", "	if o == nil || !o.sends.Waits() || o.num != m.Num {", "	if o == nil || !o.sends.Waits() {"),
	mistake(OfBarriers, "a term begins whose view this node does not have",
		"protocol/replica/terms.go", "term > t.Term && term <= view", "term > t.Term"),
	mistake(OfBarriers, "a primary of an earlier term has a replica drop the state of a barrier",
		"protocol/replica/copy.go", "term >= c.Term && (", "("),
	mistake(Barriers, "a primary says that nobody has opened a barrier that is open",
		"protocol/barrier/asker.go", "	cfg := c.configOf(m.Key)\n", "	cfg := Config{}\n",
		"protocol/barrier/asker.go", "Stamp: stamps[n], Config: cfg})", "Stamp: stamps[n], Config: Config{}})"),
	mistake(OfBarriers, "a primary does not say for which node it waits",
		"protocol/barrier/delay.go", "len(lags) > 0 {", "false {"),
	mistake(OfBarriers, "a caller at the manager's own node blames that node",
		"protocol/barrier/delay.go", "given.Awaits, given.Unleased = c.lagging(k, 1), c.now >= c.leased", "given.Unleased = false"),
	mistake(OfBarriers, "a caller hears for which node a former primary has waited",
		"protocol/barrier/answers.go", "nil; from == c.primary(m.Key) {", "nil; true {"),
	mistake(OfBarriers, "a primary waits for a backup that has confirmed",
		"protocol/replica/backups.go", "one.lacks && b.sends.Times() >= times", "b.sends.Times() >= times"),
	mistake(OfBarriers, "a node does not remember a withdrawal whose caller has gone",
		"protocol/barrier/entrant.go", "if given.ID, given.Withdrawn = id, withdrawn; !withdrawn {", "if given.ID, given.Withdrawn = id, withdrawn; false {"),
	mistake(OfBarriers, "a node whose actor has panicked forgets the semaphores that its callers hold",
		"protocol/barrier/holdings.go", "{{h.held, CallEnter}, {h.freed, CallFree}}", "{{h.freed, CallFree}}"),
	mistake(OfBarriers, "a node whose actor has panicked forgets what it takes back",
		"protocol/barrier/holdings.go", "{{h.held, CallEnter}, {h.freed, CallFree}}", "{{h.held, CallEnter}}"),
	mistake("barrier Culprit", "the error of a barrier names its manager, which waits for another node",
		"protocol/barrier/delay.go", "	case len(g.Awaits) > 0:\n		return g.Awaits[0]\n", ""),
	mistake("protocol/barrier Double", "a new backup believes that all entries inside a double barrier leave",
		"protocol/barrier/copy.go", "		m.State = &s\n", "		for i := range s.Entrances {\n\t\t\ts.Entrances[i].Leaving = s.Entrances[i].Phase == Through\n\t\t}\n\t\tm.State = &s\n"),
}
