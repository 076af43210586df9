package mistakes

// inTransfer are about what receivers and creators decide.
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
	mistake(Tests, "bytes of a Put of another generation are taken",
		"protocol/transfer/receive.go", "\tif p.Gen != r.gen || r.gen.IsZero()", "\tif r.gen.IsZero()"),
}
