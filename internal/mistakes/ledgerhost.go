package mistakes

// aroundLedger are mistakes in what a node decides about the ledger.
var aroundLedger = []Mistake{
	mistake(Tests, "the node that has begun the cluster creates a ledger although its folder belongs to one",
		"node/ledger/create.go", "c.cfg.Ledger != 0 || c.make.asked", "c.make.asked"),
	mistake(Tests, "a node hears what a disk of another ledger says",
		"node/ledger/hello.go", `		}
		return
	}
	if h.Stale`, `		}
	}
	if h.Stale`),
	mistake(Tests, "an older opening of a folder counts",
		"node/ledger/disks.go", "if h.Opened < d.opened || ", "if "),
	mistake(Tests, "an answer to an opening before ends the newest one",
		"node/ledger/hello.go", "h.Stale == c.cfg.Run", "h.Stale != 0"),
	mistake(Tests, "a disk that is away is never replaced",
		"node/ledger/disks.go", " || c.now-d.heard >= c.cfg.AwayAfter", ""),
	mistake(Tests, "a disk that failed keeps its replica",
		"node/ledger/disks.go", " || d.failed", ""),
	mistake(Tests, "only a disk that failed is replaced",
		"node/ledger/want.go", "case state < stays && len(spares) > 0:", "case state < stays && len(spares) > 0 && c.disks[diskOf(worst)].failed:"),
	mistake(Tests, "a leader that leaves keeps its tenure",
		"node/ledger/leave.go", "if c.leaving && c.began && c.heir() {", "if false {"),
	mistake(Tests, "a cluster that is begun anew has the number of the one before",
		"node/ledger/boot.go", "ledger.Record{Number: 1, Node: c.cfg.Name}", "ledger.Record{Node: c.cfg.Name}"),
	mistake(Tests, "a node that begins a cluster at once, since it knows no other, does so again without its lease",
		"node/ledger/boot.go", "if number > 0 && b.alone {", "if false {"),
	mistake(Tests, "a member enters the cluster in which it is",
		"node/ledger/boot.go", "if c.boot.number == 0 { // a member", "if true { // a member"),
	mistake(Tests, "a replica goes on in a cluster that has another ledger",
		"node/ledger/hello.go", "		if first {", "		if false && first {"),
	mistake(Tests, "a replica ends before one of another ledger that has joined later",
		"node/ledger/hello.go", "first = i >= 0 && i < joined(c.cfg.Address)", "first = i >= 0"),
	mistake(Tests, "a disk that comes after a thousand others is never known",
		"node/ledger/disks.go", "len(c.disks) >= maxDisks && !c.forgetDisk()", "len(c.disks) >= maxDisks"),
	mistake(Tests, "a node of no ledger believes those of any",
		"node/ledger/hello.go", "h.Ledger != 0 && h.Ledger != c.ledger()", "h.Ledger != 0 && c.cfg.Ledger != 0 && h.Ledger != c.cfg.Ledger"),
	mistake(Tests, "a record that fails is repeated at once",
		"node/ledger/boot.go", "c.boot.again = c.now + c.cfg.SeekEvery", "c.bootLeads()"),
	mistake(Tests, "the leader looks at all disks in each step",
		"node/ledger/want.go", "	c.looks = c.now + lookEvery", "	c.looks = c.now"),
	mistake(Tests, "the address of a replica that is heard all the time is forgotten",
		"node/ledger/book.go", "if i == len(b.places)-1 && b.places[i].Address", "if b.places[i].Address"),
	mistake(Tests, "a node that begins waits for hosts that refuse connections",
		"node/ledger/core.go", "c.forBoot(ledger.NotListening(ev))", "_ = ev"),
	mistake(Finder("workflow TestControllerEndsAfterAPanic"), "a controller's core that has panicked is asked again as the actor ends",
		"workflow/controller.go", "	k.broken = true", "	k.broken = false"),
	mistake(Finder("protocol/ledger TestGiveUp"), "a tenure goes on although its controller gives it up",
		"protocol/ledger/core.go", "			c.endTenure() // so that the leadership ends, too", ""),
}
