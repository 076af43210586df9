package mistakes

// inDirectory are mistakes in decisions of the owners of shards.
var inDirectory = []Mistake{
	mistake(Tests, "a late copy of the message that made an object final lists a copy that is gone",
		"protocol/directory/record.go", "last.node == r.From && slices.Contains(last.puts, r.Num)", "false"),
	mistake(Tests, "a sender is chosen that reads from its receiver",
		"protocol/directory/locate.go", " || !o.flows(h, receiver)):", "):"),
	mistake(Store, "a sender is given to a second receiver",
		"protocol/directory/locate.go", " || o.leasedTo(h.node) >= s.cfg.Fanout", ""),
	mistake(Store, "a failure report takes the sender off the list",
		"protocol/directory/locate.go", `	s.bar(o, l.sender, l.receiver)
`, `	s.bar(o, l.sender, l.receiver)
	o.unlist(l.sender)
`),
	mistake(Store, "a lease outlives its sender",
		"protocol/directory/record.go", `if l.sender == n || l.receiver == n {
			o.endLease(l)`, `if l.receiver == n {
			o.endLease(l)`),
	mistake(Store, "a change is acknowledged before the backup has it",
		"protocol/directory/replicate.go", `	if s.alone() {
		return true
	}
	if s.view.Backup == ""`, `	if true {
		return true
	}
	if s.view.Backup == ""`),
	mistake(Store, "a snapshot for a new replica leaves tombstones out",
		"protocol/directory/replicate.go", `			st.log = append(st.log, Change{Record: *r})
`, `			if r.State != Deleted {
				st.log = append(st.log, Change{Record: *r})
			}
`),
	mistake(Tests, "a waiting Get is forgotten when the view changes",
		"protocol/directory/shard.go", `	was := s.view
	s.view = v
`, `	was := s.view
	s.view = v
	for _, o := range s.sorted() {
		for _, r := range o.waiters {
			o.over = append(o.over, ended{node: r.From, num: r.Num, until: s.now + tombstoneLife})
		}
		o.waiters = nil
	}
`),
	mistake(Store, "Final and Announce count for another generation than they name",
		"protocol/directory/locate.go", "	if (o.rec.State == Begun || o.rec.State == Finished) && o.rec.Gen == a.Gen && !o.stale(r) {", `	a.Gen = o.rec.Gen
	if (o.rec.State == Begun || o.rec.State == Finished) && !o.stale(r) {`,
		"protocol/directory/bind.go", `	case o.rec.Gen != f.Gen:
`, `	case false:
`),
	mistake(Store, "an owner grants leave to evict whatever other copies it lists",
		"protocol/directory/evict.go", `	case !o.rec.Inline && s.stayingCopies(o, r.From) == 0:
`, `	case false:
`,
		"protocol/directory/evict.go", `			case o.rec.Inline || s.stayingCopies(o, "") > 0:
`, `			case true:
`),
	mistake(Store, "a Restart keeps the generation",
		"protocol/directory/bind.go", "rec.Gen, rec.First, rec.OriginNum = s.nextGen(), rec.begun(), r.Num", "rec.First, rec.OriginNum = rec.begun(), r.Num"),
	mistake(Tests, "an owner without memory turns a request away at once",
		"node/owner/room.go", "if now-since < RoomPatience {", "if now < since {"),
	mistake(Tests, "an owner keeps a request that waited for memory and is not repeated",
		"node/owner/room.go", "now-since > 2*RoomPatience", "now < since"),
	mistake(Tests, "an owner does not tell a creator without a first piece of a Delete",
		"protocol/directory/again.go", "			told = append(told, old.Origin)\n", ""),
	mistake(Store, "an owner does not tell holders of a Delete",
		"protocol/directory/again.go", `			told = append(told, h.node)
`, `			_ = h
`),
	mistake(Store, "a watch takes a late readiness of a former owner",
		"node/ask/heard.go", `		return false, false
	}
	if r.Version <=`, `		h.version = 0
	}
	if r.Version <=`),
	mistake(Tests, "a node sends an Evict beside the report that the copy is complete, and the owner looks for no other copy",
		"node/ask/reports.go", `	waits := r.lines[id]
	if n := len(waits); n > 1`, `	return true, 0
	waits := r.lines[id]
	if n := len(waits); n > 1`,
		"protocol/directory/evict.go", `	case !o.rec.Inline && s.stayingCopies(o, r.From) == 0:
`, `	case h != nil && !h.complete:
		o.unlist(r.From)
		s.reply(r, s.known(o))
		s.serve(o)
	case !o.rec.Inline && s.stayingCopies(o, r.From) == 0:
`),
	mistake(Tests, "an owner keeps only one copy of an object of a lost shard",
		"protocol/directory/holdings.go", `	rec.Copies = max(1, rec.Copies, c.Copies)
`, `	rec.Copies = 1
`),
	mistake(Tests, "an owner learns of the Reduce that has made an object only while it rebuilds the shard",
		"protocol/directory/holdings.go", ` && (s.rebuild || rec.Tag == "" && c.Tag != "") &&`, " && s.rebuild &&"),
	mistake(Store, "an owner believes a single node that finds a digest wrong",
		"protocol/directory/withdraw.go", `	o.stale(r) // from now on older reports are
`, `	o.stale(r) // from now on older reports are
	if true {
		s.withdraw(o, r)
		return
	}
`),
	mistake(Store, "the copy of a member that leaves counts as one that stays",
		"protocol/directory/copies.go", " && !s.leaves(h.node) {", " {"),
	mistake(Tests, "a request from before a Delete binds the id after it",
		"protocol/directory/bind.go", `	case b.After.Less(o.rec.stops()):
`, `	case false:
`,
		"protocol/directory/bind.go", `	case p.Gen.IsZero() && p.After.Less(o.rec.stops()), o.deleted(p.Gen):
`, `	case o.deleted(p.Gen):
`),
	mistake(Store, "a deleted id is bound while nodes still have the old bytes",
		"protocol/directory/again.go", `	if s.cleared(o) {
		bind()`, `	if true {
		bind()`),
	mistake(Tests, "an owner reports an id as deleted that was bound and released since the Delete",
		"protocol/directory/record.go", `	if r.State == Deleted && !r.Released.IsZero() {
		return Unbound`, `	if false {
		return Unbound`),
	mistake(Tests, "an older report lists a copy",
		"protocol/directory/locate.go", ` && o.rec.Gen == a.Gen && !o.stale(r) {
		if a.Complete`, ` && o.rec.Gen == a.Gen {
		if a.Complete`),
	mistake(Tests, "an owner that has missed a view goes on with its former streams to replicas",
		"protocol/directory/shard.go", "		clear(s.streams) // a view was missed: the replicas may have had another owner\n", ""),
	mistake(Tests, "a shard goes back to an earlier view",
		"protocol/directory/shard.go", "if v.Epoch < s.view.Epoch || !s.takesPart(v) {", "if !s.takesPart(v) {"),
	mistake(Tests, "an owner whose lease has ended answers",
		"protocol/directory/shard.go", "return s.now <= s.leased", "return true"),
	mistake(Tests, "a replica that has lost its state takes part",
		"protocol/directory/lost.go", "	if s.lost.in == 0 {\n", "	if true {\n"),
	mistake(Tests, "an acknowledgement of an earlier readiness counts for the last one",
		"protocol/directory/watch.go", "w.acked = max(w.acked, min(a.Version, o.version))", "w.acked = max(w.acked, o.version)"),
	mistake(Tests, "an owner asks again for the memory of a Put that it has accepted",
		"protocol/directory/account.go", "c.rec.Origin == r.From && c.rec.OriginNum == r.Num {", "false {"),
	mistake(Tests, "an owner waits for copies of a generation while a newer one is final",
		"protocol/directory/copies.go", "return o.rec.State != Finished || o.rec.Gen != a.Gen", "return o.rec.State != Finished"),
	mistake(Tests, "a node sends a report before the one under way is answered",
		"node/ask/reports.go", "	if at > 0 {\n\t\treturn 0\n\t}\n", ""),
	mistake(Tests, "a node that is no member any more gets leave to evict the last copy",
		"protocol/directory/evict.go", "case s.absent(r.From): // it may join", "case false: // it may join"),
	mistake(Tests, "a late copy of the first of two Puts of a node lists a copy that is gone",
		"protocol/directory/bind.go", "if len(last.puts) == maxPuts {", "if len(last.puts) > 0 {"),
}
