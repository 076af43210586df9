package mistakes

// inWorkflows are mistakes around the controllers like those that the simulation has shown.
var inWorkflows = []Mistake{
	mistake(Tests, "rows are read before the disk has what was appended",
		"node/workflow/visible.go", "v.late[0].need <= v.read", "true"),
	mistake(Tests, "of two disks of a host the one stays that is away",
		"node/ledger/want.go", "silent := d.node != \"\" && c.disks[diskOf(other)].node == \"\"", "silent := false"),
	mistake(Tests, "a replica that leads goes back to what was wanted once",
		"protocol/ledger/replace.go", "if added || !wanted(c.conf.GetLearners(), nil) ||", "if false && added || false && !wanted(c.conf.GetLearners(), nil) || false &&"),
	mistake(Tests, "a replica takes up what was wanted of other voters",
		"protocol/ledger/replace.go", "if len(w.Of) > 0 &&", "if false && len(w.Of) > 0 &&"),
	mistake(Workflows, "a node that leaves takes checkpoints for copied that nobody has",
		"node/workflow/copier.go", "if c.leaving = ev.Leaving; c.leaving {", "if c.leaving = false; c.leaving {"),
	mistake(Workflows, "a checkpoint stays on one disk",
		"node/workflow/copier.go", "c.single = append(c.single, p)", ""),
	mistake(Tests, "a request that is lost is sent again as its answer is late only",
		"node/workflow/caller.go", "if k.to != \"\" && c.now < k.lost && c.left(k) > 0 {", "if false {"),
	mistake(Tests, "a workflow is sent to all members while none leads",
		"node/workflow/caller.go", "if k.large() && k.to != c.leader {", "if false {"),
	mistake(Tests, "the process that follows a replica's speaks for it",
		"node/ledger/serve.go", "d.said == \"\" || d.said == m.Node", "d.said == d.said"),
	mistake(Tests, "the controller of a stranger begins before it has met the ledger of the cluster",
		"node/ledger/serve.go", "if m.Folder && !c.serve.spoken[m.Node] && !c.votes(m) {", "if false {"),
	mistake(Workflows, "a node keeps the results of a run that was forgotten",
		"node/workflow/belongings.go", "if !last || r.Results {", "if !last {"),
	mistake(Workflows, "a node keeps what a run has left that has ended",
		"node/workflow/belongings.go", "objects = append(objects, drop(b.objects, r)...)", "_ = drop(b.objects, r)"),
}
