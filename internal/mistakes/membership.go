package mistakes

// inMembership are mistakes in who is a member, and who goes.
var inMembership = []Mistake{
	mistake(Store, "a replica that is not in sync becomes owner",
		"protocol/view/plan.go", `		s.Owner, s.Backup = s.Backup, ""
	case s.Backup:`, `		s.Owner, s.Backup = s.Backup, ""
		if s.Next != "" {
			s.Owner, s.Next = s.Next, ""
		}
	case s.Backup:`),
	mistake(Store, "one witness is enough to remove a node",
		"protocol/detect/judge.go", `	need := min(enough, len(c.members)-1)
`, `	need := 1
`),
	mistake(Store, "a node that leaves does not look again after its last work has ended",
		"protocol/leave/core.go", `	case c.fresh && !c.here.runs() && len(c.unkept()) == 0:
`, `	case len(c.unkept()) == 0:
`),
	mistake(Tests, "a member that has handed over goes although a member that it relied on is gone",
		"protocol/leave/core.go", `c.fresh, c.closing, c.closed, c.removing = false, false, 0, false
`, `c.fresh, c.closing, c.closed = false, false, 0
`,
		"protocol/view/command.go", `	return !v.Has(c.Node) || c.HandedOver != 0 && v.Left > c.HandedOver
`, `	return !v.Has(c.Node)
`),
	mistake(Tests, "nobody looks at a member whose answer is overdue",
		"protocol/detect/overdue.go", "case due <= now:", "case false:"),
	mistake(Tests, "a lease of an earlier leader counts",
		"protocol/view/lease.go", "\tif r.Term < c.term || c.lead != nil", "\tif c.lead != nil"),
	mistake(Tests, "a lease counts with an older view",
		"protocol/view/lease.go", `	if c.view.Number >= r.View {
		c.extend`, `	if true {
		c.extend`),
	mistake(Tests, "a shard is given away before the lease of its owner has ended",
		"protocol/view/leading.go", "\treturn !owns || c.now >= c.lead.leases[node]", "\treturn !owns || true || c.now >= c.lead.leases[node]"),
	mistake(Tests, "a member that is to be removed gets leases",
		"protocol/view/lease.go", "c.halted() || c.condemned(from) ||", "c.halted() ||"),
	mistake(Tests, "a node joins another cluster beside its own",
		"protocol/join/core.go", `	case c.ready && a.Ready && a.Cluster != c.cluster:
`, `	case false:
`),
	mistake(Tests, "a request that does not fit any more still has copies evicted",
		"protocol/memory/queue.go", `	case !can && r.counted:
`, `	case false:
`),
	mistake(Tests, "a node that leaves goes back to an older view",
		"protocol/leave/core.go", "	if c.known && v.Number < c.view.Number {\n\t\treturn", "	if false {\n\t\treturn"),
	mistake(Tests, "copies that others kept before a member was gone count as kept",
		"protocol/leave/core.go", "		clear(c.kept)\n", ""),
	mistake(Tests, "a copy of an earlier generation that others keep counts for the present one",
		"protocol/leave/core.go", "		if c.kept[cp.Object] != cp {", "		if _, kept := c.kept[cp.Object]; !kept {"),
	mistake(Tests, "the mark of an attempt to leave that was given up counts for the next one",
		"protocol/leave/core.go", "case !v.Marked && c.marked != 0:", "case false:"),
	mistake(Tests, "a node that hears that its mark is new does not look again",
		"protocol/leave/core.go", "		c.fresh = false // before that, others may have relied on this node\n", ""),
	mistake(Tests, "an answer to an earlier question of a seed counts",
		"protocol/join/core.go", "if i < 0 || all[i].num != ev.Num || !all[i].asks {", "if i < 0 {"),
	mistake(Tests, "a node gives two promises at once",
		"protocol/join/promise.go", "best != \"\" && (c.promise == \"\" || c.released()) {", "best != \"\" {"),
	mistake(Tests, "a promise that was given before this node chose itself counts",
		"protocol/join/promise.go", "s.of > c.chosen && c.fresh(s) &&", "c.fresh(s) &&"),
	mistake(Tests, "a node begins a cluster before it has heard of all seeds",
		"protocol/join/promise.go", " || !c.heardAll() {", " {"),
	mistake(Tests, "an accusation that was taken back comes again late",
		"protocol/detect/judge.go", "ok && ev.Told < last {", "ok && ev.Told < last && false {"),
	mistake(Tests, "a node that is no member accuses one",
		"protocol/detect/judge.go", "!slices.Contains(c.members, ev.By) || ", ""),
	mistake(Tests, "a node that is no voter has others removed",
		"protocol/detect/judge.go", "	if !slices.Contains(c.voters, c.cfg.Self) {\n\t\treturn", "	if false {\n\t\treturn"),
	mistake(Tests, "a way round a broken link is taken for ever",
		"protocol/detect/routes.go", "heard && now-h.at < heardFor && !r.suspected[h.by]", "heard && !r.suspected[h.by]"),
	mistake(Tests, "a voter does not stop for a node that forms the cluster anew",
		"protocol/view/core.go", "	case c.halted():\n\tdefault:\n\t\terr = c.stepVoter", "	default:\n\t\terr = c.stepVoter"),
	mistake(Tests, "a request to halt that comes late halts again",
		"protocol/view/halt.go", "	case c.promise.to == from && c.promise.form == h.Form && h.Stamp <= c.promise.asked: // it comes late, or again\n\t\treturn\n", ""),
	mistake(Tests, "a member halts for two nodes at once",
		"protocol/view/halt.go", "	case p.to != from && c.now < p.until:\n", "	case false:\n"),
	mistake(Tests, "a lease from a majority counts that was granted before the cluster was formed anew",
		"protocol/view/lease.go", "	if formOf(r.View) != c.view.Form() {\n", "	if false {\n"),
	mistake(Tests, "a removed node proposes its judgements of others",
		"protocol/view/proposal.go", "!joins && c.view.Number > 0 && !c.view.Has(ev.From) {", "!joins && false {"),
	mistake(Tests, "a view of another cluster is taken",
		"protocol/view/core.go", "	if c.view.Cluster != \"\" && c.view.Cluster != ev.View.Cluster {", "	if false {"),
	mistake(Tests, "an older view takes the place of a newer one",
		"protocol/view/core.go", "	if v.Number <= c.view.Number {\n\t\treturn", "	if v.Number == c.view.Number {\n\t\treturn"),
	mistake(Tests, "a node that the view has removed does not stop",
		"protocol/view/core.go", "	if !c.member && (was || ok && younger(heir.ID, c.cfg.Self.ID)) {", "	if !c.member && ok && younger(heir.ID, c.cfg.Self.ID) {"),
	mistake(Tests, "a new leader does not wait for the leases of the one before",
		"protocol/view/leading.go", " && c.now-c.lead.since >= c.cfg.LeaseFor\n", "\n"),
	mistake(Tests, "a member that waits for a lease gets it before the voters have answered",
		"protocol/view/want.go", "c.majority() >= p.at-c.cfg.VoterEvery", "true"),
	mistake(Tests, "a node that nobody asks keeps its lease",
		"protocol/view/want.go", "c.now-c.wanted < c.cfg.IdleAfter", "true"),
	mistake(Tests, "a heartbeat of a member that is doubted counts as its answer",
		"protocol/detect/pace.go", "if !c.doubted(p) {", "if true {"),
	mistake(Tests, "a node hears of an overdue answer with its next tick only",
		"protocol/detect/core.go", "if c.owed > c.ticked {", "if false {"),
	mistake(Tests, "most voters that are missing now count as missing since the last tick",
		"protocol/view/majority.go", "if a.most && !most {", "if a.most && !most && false {"),
	mistake(Tests, "an idle node misses the majority before it can have got a lease",
		"protocol/view/majority.go", "			a.heard = max(a.heard, c.now+c.cfg.LeaseFor)\n", ""),
	mistake(Tests, "an idle node misses the majority since its last tick",
		"protocol/view/want.go", "		c.alarm.idle = c.now\n", "		_ = c.alarm.idle\n"),
	mistake(Tests, "each request without a lease asks the leader for one",
		"protocol/view/want.go", "	case first:\n", "	case first || c.now-c.beat >= c.cfg.Stagger:\n"),
	mistake(Tests, "the first request just after a heartbeat waits for the next one",
		"protocol/view/want.go", "	case first:\n", "	case first && c.now-c.beat >= c.cfg.Stagger:\n"),
	mistake(Tests, "a service has no lease after an outage",
		"protocol/view/core.go", "	if c.apart() { // requests", "	if false { // requests"),
	mistake(Tests, "a node that hung wants no lease when it goes on",
		"protocol/view/core.go", "		c.hearLeader()\n		c.wanted = c.now\n", "		c.hearLeader()\n"),
	mistake(Tests, "an idle leader does not repeat its decisions",
		"protocol/view/want.go", "		c.now-l.stirred < c.cfg.IdleAfter || ", "		"),
	mistake(Tests, "a slow round trip is never forgotten where the other node sends the heartbeats",
		"protocol/detect/pace.go", "		p.slow = fade(p.slow) // there may be no more round trips that this node can measure\n", ""),
	mistake(Tests, "a heartbeat of a member that is not watched counts",
		"protocol/detect/pace.go", "p == nil || !p.watched {", "p == nil {"),
	mistake(Tests, "neither of two opposite members of the ring sends heartbeats",
		"protocol/detect/pace.go", "2*steps == n && slices.Index(c.members, c.cfg.Self) < n/2", "false"),
	mistake(Tests, "a node forgets that it wanted a lease, and had none",
		"protocol/view/want.go", " || c.member && c.lease < c.wanted ||", " ||"),
}
