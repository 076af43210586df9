package reduce

// A coordinator hears of the end of a place by a message that is sent once. If that
// is lost, no other place would notice a root that is gone: none reads from it. A
// place says every LifeEvery that it runs, so silence is a reason to ask.

// wonder asks a place that has taken its last command, and was not heard of for long,
// whether it runs.
func (c *Coordinator) wonder(p *place) {
	if c.phase != running || p.life != live || p.version > p.acked || c.now-max(p.heard, p.wondered, p.sent) < c.cfg.HearFor {
		return
	}
	p.wondered = c.now
	c.emit(AskRuns{Node: p.node, Target: c.cfg.Target, Reduce: c.reduce, Place: p.pos, Gen: p.gen})
}

// askedRuns answers the coordinator.
func (p *Place) askedRuns(ev AskedRuns) {
	if p.runs {
		p.ack()
		return
	}
	p.report(PlaceLost{Place: ev.Place, Gen: ev.Gen, Reason: LostPanic, Text: "the place does not run"})
}
