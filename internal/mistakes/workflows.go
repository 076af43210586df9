package mistakes

// inWorkflows are mistakes around the controllers like those that the simulation has shown.
var inWorkflows = []Mistake{
	mistake(Tests, "rows are read before the disk has what was appended",
		"node/workflow/visible.go", "v.late[0].need <= v.read", "true"),
	mistake(Tests, "of two disks of a host the one stays that is away",
		"node/ledger/want.go", "silent := d.node != \"\" && c.disks[diskOf(other)].node == \"\"", "silent := false"),
}
