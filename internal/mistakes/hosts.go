package mistakes

// Some of the tests of a package, where all tests take long.
const (
	Leaving  Finder = "cluster Leave|Removed"
	Entering Finder = "barrier Join|Hold|Callback"
)

// inHosts are mistakes of the actors that host cores.
var inHosts = []Mistake{
	mistake(Tests, "a replica takes a view from before its restart",
		"directory/shard.go", "if m.views < s.views { // from before a restart\n\t\treturn", "if false {\n\t\treturn"),
	mistake(Tests, "a replica takes a lease that is newer than its view",
		"directory/shard.go", "l != s.lease && l.views <= s.views {", "l != s.lease {"),
	mistake(Tests, "a replica that was restarted does not know that its state is lost",
		"directory/shard.go", "cfg.LostIn = s.begins.Epoch", "cfg.LostIn = 0"),
	mistake(Tests, "bytes that do not have their digest are put",
		"directory/shard.go", "if digest == p.Digest {", "if digest == p.Digest || true {"),
	mistake(Tests, "a request for which there is no room waits for ever",
		"directory/room.go", "if now-since < roomPatience {", "if now >= since {"),
	mistake(Tests, "a node that does not own a shard does not answer requests for it",
		"directory/host.go", "if r, ok := owner.NotHere(h.cfg.Self, shard, ev); ok {", "if r, ok := owner.NotHere(h.cfg.Self, shard, ev); ok && false {"),
	mistake(Tests, "a leave to evict counts for a copy that has come since",
		"node/copies/evictor.go", "case g.Is == Replaced:", "case false:"),
	mistake(Tests, "a node notes an order to drop an object for its Puts only after it has looked for the copy",
		"storenode/store/orders.go", "	if p.Order == directory.PushDrop && !p.Outdated(epoch) {\n", "	if p.Order == directory.PushDrop && !p.Outdated(epoch) {\n\t\tdefer env.noteDelete(p.Object, p.Gen)\n\t} else if false {\n"),
	mistake(Tests, "a fetch that ends cancels its first Locate, and not the last",
		"storenode/store/fetch.go", "if f.locate = m.Num; m.Num == f.arrival.num {", "if m.Num == f.arrival.num {"),
	mistake(Tests, "a fetch that locates again does not say how fast the node gets bytes",
		"storenode/store/fetch.go", "		locate.Down = env.down.known(env.Now())\n", ""),
	mistake(Tests, "a first Locate does not say how fast the node gets bytes",
		"storenode/store/arrival.go", ", Down: env.down.known(env.Now())}", "}"),
	mistake(Tests, "inline bytes that were deleted while they waited for room are kept",
		"storenode/store/fetch.go", "if f.inline.Deleted(p) {", "if false {"),
	mistake(Tests, "the bytes of a Put complete a copy that did not get them",
		"storenode/store/supply.go", "if f.copy == m.copy {", "if true {"),
	mistake(Tests, "inline bytes that have changed in memory are sent with checks of their own",
		"storenode/store/serve.go", "if dataplane.DigestBytes(c.inline) != e.Table.digestOf(c) {", "if false {"),
	mistake(Leaving, "Leave returns nil although the node was not removed",
		"cluster/leave.go", "\tif closed := n.ended(); closed != nil {\n\t\treturn closed\n\t}\n\treturn err", "\tif closed := n.ended(); closed != nil {\n\t\treturn closed\n\t}\n\treturn nil"),
	mistake(Leaving, "Leave returns nil although the node goes on being a member",
		"cluster/leave.go", "if stays && n.stay(l) {\n\t\treturn err", "if stays && n.stay(l) {\n\t\treturn nil"),
	mistake(Leaving, "a node that was removed as it left says that it has left",
		"cluster/leave.go", "case e.Fenced:\n\t\t\treturn true, fail", "case e.Fenced && false:\n\t\t\treturn true, fail"),
	mistake(Entering, "a call that was given up succeeds",
		"barrier/barrier.go", "	case e.cause != nil:\n", "	case e.cause != nil && e.given.Primary == \"\":\n"),
	mistake(Entering, "a node that leaves goes on holding semaphores",
		"barrier/holds.go", "	if s.leaves {\n\t\ts.loseAll", "	if false {\n\t\ts.loseAll"),
	mistake(Entering, "a callback that panics ends later callbacks",
		"barrier/callback.go", "		defer func() { _ = recover() }() // the application's mistake costs it its say\n", ""),
	mistake(Entering, "an unexpected entry enters a barrier with Join",
		"barrier/join.go", "if err := a.invalid(); err != nil {", "if err := a.invalid(); err != nil && false {"),
}
