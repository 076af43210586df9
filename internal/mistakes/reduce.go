package mistakes

// inReduce are mistakes in decisions of coordinators and places.
var inReduce = []Mistake{
	mistake(Tests, "a root shows an output again whose readers were told that it is gone",
		"protocol/reduce/place.go", "!fresh && s.Root && !old.TargetGen.IsZero()", "false && s.Root && !old.TargetGen.IsZero()"),
	mistake(Store, "a root goes on with its output although its target has another generation",
		"protocol/reduce/place.go", "s.TargetGen != old.TargetGen; regenerated {", "false; regenerated {"),
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
	mistake(Tests, "an old order undoes a newer one",
		"protocol/reduce/place.go", `	case old.Version > 0 && !old.older(s.Attempt, s.Version):
`, `	case false:
`),
	survivor("a restart has to find a place with a new label whose parent still holds the output of the old one; no test makes that",
		mistake(Store, "an output that was delivered under an older label counts after a restart",
			"protocol/reduce/recover.go", "d.Child == p.pos && d.ChildGen == p.gen &&", "d.Child == p.pos &&")),
	mistake(Tests, "a place heeds a coordinator of an earlier attempt",
		"protocol/reduce/place.go", "case s.Attempt < p.floor:", "case false:"),
	mistake(Tests, "a coordinator of an earlier attempt stops a place",
		"protocol/reduce/place.go", "	if ev.Attempt < p.floor {\n", "	if false {\n"),
	mistake(Tests, "a place that was stopped is started by an old order",
		"protocol/reduce/place.go", "case s.Gen.Compare(p.ended) <= 0:", "case false:"),
	mistake(Tests, "a place reports an output of an earlier label as the present one",
		"protocol/reduce/place.go", "	if p.runs && ev.Gen == p.state.Gen {\n\t\tp.made", "	if p.runs {\n\t\tp.made"),
	mistake(Tests, "the end of an earlier stream of a child counts",
		"protocol/reduce/place_edges.go", "!p.edges[i].open || p.edges[i].stream != ev.Stream {", "!p.edges[i].open {"),
	mistake(Tests, "a node's answer to an earlier attempt of a coordinator counts",
		"protocol/reduce/recover.go", "if ev.Attempt != c.cfg.Attempt {", "if false {"),
	mistake(Tests, "a holder of an earlier generation of a source is used",
		"protocol/reduce/sources.go", " || ev.Gen.Less(s.gen) || c.gone[ev.Node] {", " || c.gone[ev.Node] {"),
	mistake(Tests, "a late message that a source is gone counts after it was put again",
		"protocol/reduce/sources.go", "if s == nil || ev.Gen.Less(s.gen) {", "if s == nil {"),
	mistake(Tests, "places are put on a node that is gone",
		"protocol/reduce/sources.go", " || c.gone[ev.Node] {", " {"),
}
