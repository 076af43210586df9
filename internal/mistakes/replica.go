package mistakes

// inReplica are mistakes in how a primary and its backups keep the same state, and in repeats.
var inReplica = []Mistake{
	mistake(Tests, "a confirmation that comes twice speaks for another backup too",
		"protocol/replica/backups.go", "return batch == b.batch && b.Lacks(from)", "return batch == b.batch",
		"protocol/replica/backups.go", "		one.has, one.lacks = true, false\n", `		one.has = true
		if i := slices.IndexFunc(b.all, func(one backup) bool { return one.lacks }); i >= 0 {
			b.all[i].lacks = false
		}
`),
	mistake(Tests, "a confirmation of an earlier batch of the term counts",
		"protocol/replica/backups.go", "return batch == b.batch &&", "return batch.Term == b.batch.Term &&"),
	mistake(Tests, "a backup that has lost its replica is sent the batch alone",
		"protocol/replica/backups.go", "		one.has = false\n", ""),
	mistake(Tests, "a backup of an earlier term counts as having the state of the present one",
		"protocol/replica/backups.go", "b.all = nil", "for i := range b.all {\n\t\tb.all[i].lacks = false\n\t}"),
	mistake(Tests, "a stale replica that has as many batches is as good as the newest",
		"protocol/replica/copy.go", "v.Term > than.Term || v.Term == than.Term && v.Seq > than.Seq", "v.Seq > than.Seq"),
	mistake(Tests, "a backup that has missed a batch makes the next one",
		"protocol/replica/copy.go", "v.Term == batch.Term && v.Seq+1 == batch.Seq", "v.Term == batch.Term"),
	mistake(Tests, "a member heeds a primary that has missed a view although it has promised another one",
		"protocol/replica/terms.go", "return !t.Outdated(term) && (term >= t.Term || primary)", "return true"),
	mistake(Tests, "a member that answers a new primary promises it nothing",
		"protocol/replica/terms.go", "	t.Fence = term\n", ""),
	mistake(Tests, "a member answers a primary of a view that it does not have",
		"protocol/replica/terms.go", "	case term > view:\n", "	case false:\n"),
	mistake(Tests, "an answer of an earlier term counts",
		"protocol/replica/gather.go", "if h == nil || p.Term != g.term || p.Stamp != g.Stamp {", "if h == nil {"),
	mistake(Tests, "a new primary acts before all members have answered",
		"protocol/replica/gather.go", "return g.begun && len(g.waiting) == 0", "return g.begun && len(g.waiting) <= 1"),
	mistake(Tests, "a part of an answer that comes twice counts twice",
		"protocol/replica/gather.go", "if p.Said != h.said || p.Part != h.part {", "if p.Said != h.said {"),
	mistake(Tests, "a late question has a member go on with the next part",
		"protocol/replica/tell.go", "q.Said == one.Said && q.Part == one.Part+1 && one.More:", "q.Said == one.Said && one.More:"),
	mistake(Tests, "a piece of a state that comes twice counts twice",
		"protocol/replica/arrive.go", "!p.begun || from != p.have || total", "!p.begun || total"),
	mistake(Tests, "a late copy of a piece ends the state that is on its way",
		"protocol/replica/arrive.go", "one.Term > b.Term || one.Term == b.Term && one.Stamp > b.Stamp", "false"),
	mistake(Tests, "pauses between repeats do not double",
		"protocol/retry/backoff.go", "		wait *= 2\n", ""),
	mistake(Tests, "pauses go on where they were after an answer",
		"protocol/retry/backoff.go", "b.times = 0", "_ = b"),
}
