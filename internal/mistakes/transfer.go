package mistakes

// inTransfer are mistakes in decisions of receivers and creators.
var inTransfer = []Mistake{
	mistake(Store, "the bytes of an older generation stay",
		"protocol/transfer/receiver.go", `		if !r.gen.IsZero() {
			r.emit(Clear{Before: g`, `		if false {
			r.emit(Clear{Before: g`),
	mistake(Store, "a copy is complete before the owner has said so",
		"protocol/transfer/receive.go", `	if r.final == nil || r.digest.IsZero() {
		return
`, `	if r.final == nil && !r.digest.IsZero() {
		r.final = &Pushed{Gen: r.gen, Meta: r.meta, Digest: r.digest}
	}
	if r.final == nil || r.digest.IsZero() {
		return
`),
	mistake(Store, "an object that others have a part of is finished inline",
		"protocol/transfer/creator.go", `	if c.small() && !c.shown {
`, `	if c.small() {
`),
	mistake(Tests, "a Put that nobody waits for any more drops the bytes that the owner may list",
		"protocol/transfer/creator.go", "case c.step == finishing && !c.queued:", "case false:"),
	mistake(Tests, "a copy that has every byte does not hear from a Put that it is final",
		"protocol/transfer/receive.go", "\t\tr.pushed(final)\n", ""),
	mistake(Tests, "bytes of a Put of another generation are taken",
		"protocol/transfer/receive.go", "case p.Gen != r.gen || r.gen.IsZero():\n\t\treturn\n\tcase !r.digest", "case r.gen.IsZero():\n\t\treturn\n\tcase !r.digest"),
	mistake(Tests, "an answer to an earlier Locate counts",
		"protocol/transfer/receiver.go", "if r.phase != locating || a.Num != r.locate {", "if r.phase != locating {"),
	mistake(Tests, "an answer that an order has overtaken counts",
		"protocol/transfer/receiver.go", "case a.Gen.Less(r.floor):", "case false:"),
	mistake(Tests, "the end of an earlier stream ends the present one",
		"protocol/transfer/receive.go", "case r.phase == reading && e.Stream == r.stream:", "case r.phase == reading:"),
	mistake(Tests, "an order to move that is about an earlier lease counts",
		"protocol/transfer/receive.go", "if r.phase != reading || r.lease != m.Lease {", "if r.phase != reading {"),
	mistake(Tests, "the last byte of an earlier generation completes the present one",
		"protocol/transfer/receive.go", "case w.Gen != r.gen || r.gen.IsZero()", "case r.gen.IsZero()"),
	mistake(Tests, "a copy of an earlier generation that has changed drops the present one",
		"protocol/transfer/receive.go", "if e.Gen == r.gen && !r.gen.IsZero() {", "if !r.gen.IsZero() {"),
	mistake(Tests, "the owner does not hear that a part has changed and is gone",
		"protocol/transfer/receive.go", "\t\tr.emit(ReportDrop{Num: r.next(), Gen: r.gen})\n\t\tr.raise(e.Gen)", "\t\tr.raise(e.Gen)"),
	mistake(Store, "a receiver does not ask the sender of a bad piece to check it",
		"protocol/transfer/receiver.go", "Checked: checks >= 0, Gen", "Checked: false, Gen"),
}
