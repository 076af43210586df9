package mistakes

// inLedger are mistakes in the durable log, and in who boots the view.
var inLedger = []Mistake{
	mistake(Tests, "entries are not synced",
		"protocol/ledger/disk.go", `		w.Sync = true
		c.log.put(entries)`, `		c.log.put(entries)`),
	mistake(Tests, "votes and acknowledgements leave before they are on the disk",
		"protocol/ledger/disk.go", `	busy.Number, busy.since = d.number, c.now
`, `	busy.Number, busy.since = d.number, c.now
	defer c.release(busy.after)
	busy.after = nil
`),
	mistake(Tests, "one copy acknowledges",
		"protocol/ledger/append.go", `	l.appends.queue = nil
`, `	for _, w := range l.appends.queue {
		c.emit(Done{Epoch: l.term, Number: w.number})
	}
	l.appends.queue = nil
`,
		"protocol/ledger/append.go", `	c.emit(Done{Epoch: l.term, Number: b.number})
`, ``),
	mistake(Tests, "a vote is not synced, and forgotten",
		"protocol/ledger/disk.go", "w.Sync = w.Sync || m.GetTerm() != old.GetTerm() || m.GetVote() != old.GetVote()", "_ = old"),
	mistake(Tests, "a vote in a term that was known is not synced",
		"protocol/ledger/disk.go", " || m.GetVote() != old.GetVote()", ""),
	mistake(Tests, "a candidate asks for votes before its disk has the term",
		"protocol/ledger/core.go", "case m.GetType() == raftpb.MsgVote:", "case false:"),
	mistake(Tests, "a tenure begins before its first entry is committed",
		"protocol/ledger/leading.go", " && l.first > 0 && c.disk.visible >= l.first", ""),
	mistake(Tests, "a tenure begins before the disk has the rows",
		"protocol/ledger/leading.go", "l.first > 0 && c.disk.visible >= l.first", "l.first > 0"),
	mistake(Tests, "a refused proposal is skipped, and what follows is proposed",
		"protocol/ledger/append.go", `	if c.node.Step(m) != nil {
		c.endTenure()
`, `	if c.node.Step(m) != nil {
		for _, w := range l.appends.queue {
			l.appends.bytes -= len(w.data)
			c.emit(Refused{Epoch: l.term, Number: w.number, Reason: Fenced})
		}
		l.appends.queue = nil
`),
	mistake(Tests, "rows of an old tenure are committed under a new term",
		"protocol/ledger/append.go", "if !c.serves(ev.Epoch) {", "if c.lead == nil || !c.serves(c.lead.term) {"),
	mistake(Tests, "an append is accepted behind a gap",
		"protocol/ledger/append.go", "if ev.Number != a.number+1 {", "if ev.Number <= a.number {"),
	mistake(Tests, "a leader proposes while the voters change",
		"protocol/ledger/leading.go", "c.lead == nil || c.node == nil || c.joint()", "c.lead == nil || c.node == nil"),
	mistake(Tests, "a change of the replicas is called settled at once",
		"protocol/ledger/replace.go", "!c.joint() && c.applied.index >= l.settles", "!c.joint()"),
	mistake(Tests, "a change is called settled when any later entry is committed",
		"protocol/ledger/replace.go", "c.lead.settles = c.log.end() + 1", "c.lead.settles = e.GetIndex() + 1"),
	mistake(Tests, "a read does not ask whether this replica still leads",
		"protocol/ledger/read.go", "	c.node.ReadIndex(binary.BigEndian.AppendUint64(nil, c.lead.reads.number))",
		"	c.confirmed(raft.ReadState{Index: c.applied.index, RequestCtx: binary.BigEndian.AppendUint64(nil, c.lead.reads.number)})"),
	mistake(Tests, "a read is answered before the disk has the rows",
		"protocol/ledger/read.go", "r.known[0].index <= c.disk.visible", "r.known[0].index <= c.applied.index"),
	mistake(Tests, "a leader that hears no majority leads on",
		"protocol/ledger/core.go", "CheckQuorum:               true", "CheckQuorum:               false"),
	mistake(Tests, "a disk that failed goes on",
		"protocol/ledger/core.go", `	c.disk.failed = true
`, `	c.disk.busy = nil
	if c.disk.busy == nil {
		return
	}
`),
	mistake(Tests, "a disk that has lost what it acknowledged goes on",
		"protocol/ledger/receive.go", "errors.Is(err, errStale) || errors.Is(err, errLost)", "errors.Is(err, errStale)"),
	mistake(Tests, "replicas of several generations vote for each other",
		"protocol/ledger/check.go", "case !c.belongs(m.GetTerm()):", "case false:"),
	mistake(Tests, "a replica follows a later generation without the entries that it lacks",
		"protocol/ledger/generation.go", "of > own && c.Empty()", "of > own"),
	mistake(Tests, "a recovered ledger loses rows that were not known to be committed",
		"protocol/ledger/recover.go", "w.Rows = append(w.Rows, b.rows...)", "_ = b"),
	mistake(Tests, "a ledger is recovered from the longest log and not from the latest",
		"protocol/ledger/recover.go", "cmp.Compare(a.Term, b.Term), ", ""),
	mistake(Tests, "changes of the replicas before a recovery reach new ones",
		"protocol/ledger/recover.go", "w.Compact = f.Index - 1", "_ = 0"),
	mistake(Tests, "two disks that are both recovered have one generation",
		"protocol/ledger/generation.go", "uint64(place)&(1<<placeBits-1)", "uint64(place)&0"),
	mistake(Tests, "a copy of a disk is not noticed",
		"protocol/ledger/wire.go", "ok && known != at && !(at.count > known.count)", "ok && known != at && false"),
	mistake(Tests, "a leader whose disk is late stays",
		"protocol/ledger/leading.go", "	case c.late():", "	case false:"),
	mistake(Tests, "a group sleeps although a replica lacks entries",
		"protocol/ledger/sleep.go", "whole = whole && p.Match == c.log.end() && c.recent(id)", "whole = whole || !c.recent(id)"),
	mistake(Tests, "a group without work does not sleep",
		"protocol/ledger/sleep.go", "c.asleep = c.rests()", "c.asleep = false"),
	mistake(Tests, "a sleeping leader that nobody answers sleeps on",
		"protocol/ledger/sleep.go", "id != c.id && l.contact[id] < l.beat", "id != c.id && l.contact[id] < 0"),
	mistake(Tests, "a campaign does not wake a follower",
		"protocol/ledger/sleep.go", "	default:\n\t\tc.rouse()", "	default:"),
	mistake(Tests, "a follower that is woken does not wake its leader",
		"protocol/ledger/sleep.go", "Term: new(c.term), LogTerm: new(c.term)}", "Term: new(c.term)}"),
	mistake(Tests, "the replicas of a leader that has slept do not count as there",
		"protocol/ledger/sleep.go", "				c.lead.contact[id] = c.now", "				_ = id"),
	mistake(Tests, "a transfer of leadership that fails is waited for",
		"protocol/ledger/leading.go", "case l.handing && c.now-l.since >= c.cfg.HandOverFor:", "case false:"),
	mistake(Tests, "the last messages of a leader that is gone end the election",
		"protocol/ledger/election.go", `	if c.gone(id, term) {
		return
	}
`, ``),
	mistake(Tests, "a learner votes before it has caught up",
		"protocol/ledger/replace.go", "!c.caughtUp(add) || ", ""),
	mistake(Tests, "two replicas are replaced at once",
		"protocol/ledger/replace.go", "add, remove = add[:1], remove[:1]", "_ = add"),
	mistake(Tests, "the log is cut while a snapshot streams",
		"protocol/ledger/compact.go", "last = min(last, index)", "_ = index"),
	mistake(Tests, "committed bytes still count as uncommitted",
		"protocol/ledger/append.go", `	a.bytes -= len(a.flight[0].data)
`, ``),
	mistake(Tests, "messages that wait for a disk pile up",
		"protocol/ledger/disk.go", "old.GetType() == m.GetType() && old.GetTo()", "false && old.GetTo()"),
	mistake(Tests, "a view is booted without election",
		"protocol/ledger/boot.go", "if !b.leads || b.inCluster()", "if b.inCluster()"),
	mistake(Tests, "a view is booted before the record is committed",
		"protocol/ledger/boot.go", "		b.emit(RecordBoot{Record: Record{Number: b.writes, Node: b.cfg.Node}})", `		b.emit(RecordBoot{Record: Record{Number: b.writes, Node: b.cfg.Node}})
		b.booted = true
		b.emit(BootView{Number: b.writes})`),
	mistake(Tests, "a new leader does not wait for the recorded node",
		"protocol/ledger/boot.go", "alone = max(alone, b.since+b.cfg.RecordedFor)", "_ = alone"),
	mistake(Tests, "the survivor of a dead view stays in it",
		"protocol/ledger/boot.go", "b.own > 0 && ev.Number > b.own, b.booted", "b.booted"),
	mistake(Tests, "a node boots a view although it has joined another",
		"protocol/ledger/boot.go", `		b.writes = 0 // a record that is on its way is not acted on any more
`, ``),
	mistake(Tests, "a silent address counts as quiet",
		"protocol/ledger/quiet.go", "return ok && !b.old(q.last)", "return !ok || !b.old(q.last)"),
	mistake(Tests, "an address is quiet although its node was in a view",
		"protocol/ledger/quiet.go", "!s.Joining && ended", "!s.Joining && (ended || true)"),
	mistake(Tests, "a node does not say that it joins a cluster",
		"protocol/ledger/boot.go", "joining := b.joined >", "joining := false && b.joined >"),
	mistake(Tests, "a view that is lost is waited for",
		"protocol/ledger/quiet.go", "if b.own > b.lost ||", "if b.own > 0 ||"),
	mistake(Tests, "a view that seemed to be lost stays so",
		"protocol/ledger/boot.go", "if b.held = ev.Held; b.held && ev.Number <= b.lost {", "if b.held = ev.Held; false {"),
	mistake(Tests, "a member believes another one that its own view is lost",
		"protocol/ledger/boot.go", "&& !ev.InCluster && ev.Number > b.own:", "&& !ev.InCluster:"),
	mistake(Tests, "a voter that answers again has ended",
		"protocol/ledger/quiet.go", "	delete(b.gone, ev.Address)\n", ""),
	mistake(Tests, "a view stays lost although a voter answers again",
		"protocol/ledger/quiet.go", "ended && ev.Number == b.own && b.own <= b.lost", "false && ended"),
	mistake(Tests, "nodes wait for those that join a view that is lost",
		"protocol/ledger/boot.go", "joining := b.joined > b.lost &&", "joining := b.joined > 0 &&"),
	mistake(Tests, "a member of a view has ended",
		"protocol/ledger/boot.go", "if ev.Number == 0 && !ev.InCluster {", "if !ev.InCluster {"),
	mistake(Tests, "a view is lost with the first of its voters",
		"node/ledger/boot.go", "return voters > 0 && 2*(voters-gone) <= voters", "return gone > 0"),
	mistake(Tests, "a leader stays in a view that the disks have given up",
		"protocol/ledger/boot.go", "|| b.inCluster() ||", "|| b.held ||"),
}
