package mistakes

// inReduce are about what coordinators decide.
var inReduce = []Mistake{
	mistake(Store, "an ancestor of a place that failed keeps its result",
		"protocol/reduce/repair.go", `			c.clear(a)
		case dead:`, "\t\tcase dead:"),
	mistake(Store, "the target becomes final before its sources",
		"protocol/reduce/finish.go", "p.life == vacant || !p.final {", "p.life == vacant {"),
	mistake(Store, "a delivered place is not replaced when its parent is lost",
		"protocol/reduce/repair.go", `			if p.life == dead && c.held(p) == notHeld {
`, `			if false {
`),
	mistake(Store, "a source that has replaced another is placed again",
		"protocol/reduce/placement.go", `	c.changed(s)
	c.touch(p)
	c.emit(Notify{What: what`, `	if what == NoteReplaced {
		s.position = -1
	}
	c.changed(s)
	c.touch(p)
	c.emit(Notify{What: what`),
	mistake(Store, "places are not filled in in-order",
		"protocol/reduce/turns.go", `	return c.tree.Rank(p.pos)
`, `	return p.pos
`,
		"protocol/reduce/turns.go", `	return c.places[c.tree.Position(turn)]
`, `	return c.places[turn]
`),
	mistake(Store, "the coordinator does not heed a place whose op has failed",
		"protocol/reduce/op.go", `if c.phase != running || p == nil || p.life != live || p.gen != ev.Gen {
		return
	}
	source`, `if true {
		return
	}
	source`),
	mistake(Store, "an order that is lost is not repeated",
		"protocol/reduce/commands.go", "p.life == live && p.version > p.acked &&", "p.life == live && p.version > p.acked && p.sent == 0 &&"),
	mistake(Store, "an old order undoes a newer one",
		"protocol/reduce/place.go", `	case old.Version > 0 && !old.older(s.Attempt, s.Version):
`, `	case false:
`),
	mistake(Store, "what was delivered under an older label counts after a restart",
		"protocol/reduce/recover.go", "d.Child == p.pos && d.ChildGen == p.gen &&", "d.Child == p.pos &&"),
}
