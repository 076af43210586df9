package mistakes

// inMembership are about who is a member, and who goes.
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
	mistake(Store, "nobody looks again after the last thing has ended on a node that leaves",
		"protocol/leave/core.go", `	case c.fresh && !c.here.runs() && len(c.unkept()) == 0:
`, `	case len(c.unkept()) == 0:
`),
	mistake(Store, "a member that has handed over goes although one that it relied on is gone",
		"protocol/leave/core.go", `c.fresh, c.closing, c.closed, c.removing = false, false, 0, false
`, `c.fresh, c.closing, c.closed = false, false, 0
`,
		"protocol/view/command.go", `	return !v.Has(c.Node) || c.HandedOver != 0 && v.Left > c.HandedOver
`, `	return !v.Has(c.Node)
`),
	mistake(Store, "nobody looks at a member whose answer is overdue",
		"protocol/detect/overdue.go", "now-at >= answerIn {", "now-at < 0 {"),
	mistake(Tests, "a lease of an earlier leader counts",
		"protocol/view/lease.go", "\tif r.Term < c.term || c.lead != nil", "\tif c.lead != nil"),
	mistake(Store, "a lease counts with an older view",
		"protocol/view/lease.go", `	if c.view.Number >= r.View {
		c.extend`, `	if true {
		c.extend`),
	mistake(Store, "a shard is given away before the lease of its owner has ended",
		"protocol/view/leading.go", "\treturn !owns || c.now >= c.lead.leases[node]", "\treturn !owns || true || c.now >= c.lead.leases[node]"),
	mistake(Tests, "a member that is to be removed gets leases",
		"protocol/view/lease.go", "c.halted() || c.condemned(from) ||", "c.halted() ||"),
	mistake(Tests, "a node joins another cluster beside its own",
		"protocol/join/core.go", `	case c.ready && a.Ready && a.Cluster != c.cluster:
`, `	case false:
`),
	mistake(Tests, "a request that can be met no more still has others evicted",
		"protocol/memory/queue.go", `	case !can && r.counted:
`, `	case false:
`),
}
