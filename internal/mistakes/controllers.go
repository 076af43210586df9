package mistakes

// inControllers are mistakes in how the controller and the executors of workflows work together.
var inControllers = []Mistake{
	mistake(Tests, "an executor takes what an older controller sends",
		"protocol/workflow/executor.go", "if m.epoch() != x.epoch || x.epoch == 0 {", "if x.epoch == 0 {"),
	mistake(Tests, "a controller does not await what earlier attempts with a limit still run",
		"protocol/workflow/controller_attempts.go", "if !c.knowsLimits() || !c.limits.begins(by) {", "if !c.limits.begins(by) {"),
	mistake(Tests, "an attempt on a node that has left counts for its limit for ever",
		"protocol/workflow/controller_members.go", `			c.limits.leave(m)
`, ""),
	mistake(Tests, "an attempt that ends calls none that waits for its limit",
		"protocol/workflow/limits.go", "		l.running--\n		ls.change(l)\n", "		l.running--\n"),
	mistake(Tests, "an attempt whose function nobody offers any more holds up its limit",
		"protocol/workflow/controller_members.go", "	c.limits.changeAll()\n	c.withDisks = nil", "	c.withDisks = nil"),
	mistake(Tests, "a silent member holds up a run that comes back",
		"protocol/workflow/controller_take.go", "k.asks > 0 && c.now < k.until:", "k.asks > 0:"),
	mistake(Tests, "attempts that run since before do not count for their limits",
		"protocol/workflow/controller_take.go", "if h.hasTask(r.ID.Task) {", "if false {"),
	mistake(Tests, "the report of an earlier attempt counts",
		"protocol/workflow/controller_attempts.go", `	f := m.flights[r.ID]
`, `	f := m.flights[r.ID]
	if f == nil && h != nil && h.flights[r.ID.Task] != nil {
		f = h.flights[r.ID.Task]
		r.ID.Attempt = f.id.Attempt
	}
`),
	mistake(Tests, "a controller does not await that Begun is durable",
		"protocol/workflow/controller_run.go", `	h.pending++
	c.add(func() {`, `	h.pending++
	c.step(h, Durable{a.Number}, nil)
	c.add(func() {`),
	mistake(Tests, "an executor forgets a report that was not acknowledged",
		"protocol/workflow/executor.go", `	x.bytes += r.bytes()
	x.report(r.ID)
`, `	x.bytes += r.bytes()
	x.report(r.ID)
	x.forget(r.ID)
`),
	mistake(Tests, "a report is acknowledged before what follows from it is durable",
		"protocol/workflow/controller_attempts.go", "if !wrote {", "if !wrote || true {"),
	mistake(Tests, "a report that comes twice is acknowledged before what follows from it is durable",
		"protocol/workflow/controller_attempts.go", "case f == nil && c.unacked[r.ID], c.full():", "case c.full():"),
	mistake(Tests, "a takeover does not wait for a silent member",
		"protocol/workflow/controller_take.go", `if h.run.waitsFor(v) && k.found[v] == nil {
			return false`, `if v < 0 {
			return false`),
	mistake(Tests, "a takeover does not wait for attempts that nobody has recorded",
		"protocol/workflow/controller_take.go", "case len(k.ending) > 0 || k.asks > 0 && c.now < k.until:", "case k.asks > 0 && c.now < k.until:"),
	mistake(Tests, "Start is answered before it is durable",
		"protocol/workflow/controller_calls.go", "		h.durable = true\n", "",
		"protocol/workflow/controller_calls.go", "	c.register(h)\n	if len(parts) > 1 {", `	c.register(h)
	h.durable = true
	c.answer(k, Answer{Run: u, Fresh: true})
	if len(parts) > 1 {`),
	mistake(Tests, "a second Start is answered before the first is durable",
		"protocol/workflow/controller_calls.go", "if h == nil || h.durable {", "if true {"),
	mistake(Tests, "a run does not hear that an output is gone",
		"protocol/workflow/controller_run.go", `	c.step(h, Gone{Task: b.Task, Gen: b.Gen}, nil)
`, ""),
	mistake(Tests, "an attempt counts as lost before it is durable that its node has left",
		"protocol/workflow/controller_members.go", `		for _, m := range all {
			delete(c.recorded, m.node)
`, `		for _, m := range all {
			delete(c.recorded, m.node)
			if true {
				continue
			}
`,
		"protocol/workflow/controller_members.go", `	c.add(func() {
		for _, m := range all {
			delete`, `	for _, m := range all {
		for _, id := range slices.SortedFunc(maps.Keys(m.flights), AttemptID.compare) {
			c.lost(m.flights[id])
		}
	}
	c.add(func() {
		for _, m := range all {
			delete`),
	mistake(Tests, "a controller takes a view that is older than one by which a node has left",
		"protocol/workflow/controller_members.go", "if ev.View.Less(c.view) {", "if false {"),
	mistake(Tests, "a member gets attempts before it is recorded",
		"protocol/workflow/controller_members.go", "c.add(enter, Row{", "enter()\n	c.add(nil, Row{"),
	mistake(Tests, "a recorded node that no view has is not waited for",
		"protocol/workflow/controller_members.go", "known != (Known{}) && !ev.View.Less(known.View)", "known != (Known{})"),
	mistake(Tests, "an order that comes again begins its attempt again",
		"protocol/workflow/executor.go", "case x.seen.add(o.Serial):", "case x.seen.add(o.Serial) || true:"),
	mistake(Tests, "an attempt that was recalled begins when its order comes late",
		"protocol/workflow/executor.go", "m.Serial == 0 || x.seen.add(m.Serial):", "true:"),
	mistake(Tests, "a checkpoint counts with one copy",
		"protocol/workflow/controller_save.go", "if s.left--; s.left == 0 {", "if s.left--; !s.over {"),
	mistake(Tests, "a controller dispatches while the ledger is stalled",
		"protocol/workflow/controller_rows.go", "return len(c.written) > 0 && c.now", "return false && c.now"),
	mistake(Tests, "a part of a batch counts",
		"protocol/workflow/controller_take.go", "!v.More {", "true {"),
	mistake(Tests, "a Release that is answered counts for runs that were added later",
		"protocol/workflow/controller_members.go", "m.release = m.release[m.released:]", "m.release = m.release[min(mostListed, len(m.release)):]"),
	mistake(Tests, "a run that is loaded again names attempts as before",
		"protocol/workflow/controller_take.go", `	h.run.numberFrom(c.loads << 32)
`, ""),
	mistake(Tests, "another workflow attaches to a run",
		"protocol/workflow/controller_calls.go", "case h != nil && h.work.Digest == s.Work.Digest:", "case h != nil:"),
	mistake(Tests, "two Starts at once begin two runs",
		"protocol/workflow/controller_rows.go", "if busy || c.ids[id] != nil {", "if busy {"),
	mistake(Tests, "a slot is not given back",
		"protocol/workflow/controller_attempts.go", `	if f.slot && !f.to.left {
		c.place.use(f.to, -1)
	}
`, ""),
	mistake(Tests, "the result is answered before it is durable",
		"protocol/workflow/controller_run.go", `	h.result = &result
`, `	h.result = &result
	for call := range maps.Clone(c.watchers[h.uid]) {
		c.answer(call, Answer{Run: h.uid, Result: h.result})
	}
`),
	mistake(Tests, "a run is parked while a checkpoint is written",
		"protocol/workflow/controller_run.go", " && h.saves == 0 &&", " &&"),
	mistake(Tests, "attempts that have waited long enough are dropped as the groups of members change",
		"protocol/workflow/place_groups.go", "range old[key].late {", "range old[key].late[:0] {"),
	mistake(Tests, "what waits for a member that leaves waits for ever",
		"protocol/workflow/place_groups.go", "p.waiting.Set(w, p.now)", "p.waiting.Cancel(w)"),
	mistake(Tests, "runs do not take turns",
		"protocol/workflow/place.go", `			q.lines = append(q.lines, l)
		} else`, `			q.lines = append([]*line{l}, q.lines...)
		} else`),
	mistake(Tests, "an answer to Ask mixes two moments",
		"protocol/workflow/executor_tell.go", "if m.Number > x.telling.number {", "if m.Number > x.telling.number || m.Part == 0 {"),
	mistake(Tests, "what members have of a run is not told after a takeover",
		"protocol/workflow/controller_take.go", `			h.run.Has(b.Task, b.Made)
`, ""),
	mistake(Tests, "an output of a member that has left counts as there",
		"protocol/workflow/controller_take.go", `			h.run.lose(v)
			delete(k.holders, v)
`, `			delete(k.holders, v)
`),
	mistake(Tests, "an executor answers an older epoch",
		"protocol/workflow/executor.go", "ask.Epoch > x.epoch {", "ask.Epoch != x.epoch {"),
	mistake(Tests, "a cancel is answered well after the run has ended",
		"protocol/workflow/controller_calls.go", "h.closing && state == Open {", "false && state == Open {"),
	mistake(Tests, "Forget deletes a run that has not ended",
		"protocol/workflow/controller_keep.go", `if h != nil || n.State != Finished {
			c.fail`, `if h == nil && n.State != Finished {
			c.fail`),
	mistake(Tests, "an id that was forgotten can be used at once",
		"protocol/workflow/controller_keep.go", "c.minutes + tombstone", "c.minutes"),
	mistake(Tests, "an attempt outlives its lease",
		"protocol/workflow/executor_lease.go", "	default:\n		x.over = true\n", "	default:\n		return\n"),

	mistake(Tests, "the next controller counts a checkpoint that is lost",
		"protocol/workflow/run.go", `		if r.unsaved(ev) {
			r.write(ev, nil)
		}
`, `		r.unsaved(ev)
`),
	mistake(Tests, "an accepted loss is one for ever",
		"protocol/workflow/run_loss.go", `if r.waives && r.failing == "" &&`, `if false && r.failing == "" &&`),
	mistake(Tests, "a loss is accepted before there is one",
		"protocol/workflow/run_loss.go", "accepts := ev.AcceptLoss && len(r.lost)+len(r.missing) > 0", "accepts := ev.AcceptLoss"),
	mistake(Tests, "a graph after an accepted loss has the numbers of the one before",
		"protocol/workflow/scope.go", "	if x.saves(s.owner) { // outsiders", "	if false { // outsiders"),
	mistake(Tests, "a task that has returned a graph has ended with its result",
		"protocol/workflow/scope.go", "if had == (s.rest == 0) {", "if _ = had; v != s.result() {"),
	mistake(Tests, "a repeat under a key makes another actor",
		"protocol/workflow/actors.go", "case t.Actor && t.Effect == Idempotent:", "case false:"),
	mistake(Tests, "a compensation has no effect to make up for",
		"protocol/workflow/check.go", "case t.Effect == None:", "case false:"),
	mistake(Tests, "a task reads a version that moves away",
		"protocol/workflow/actors.go", "ok && w != v && !s.saves(p) {", "ok && w != v && false {"),
	mistake(Tests, "a lost output is made again with another effect",
		"protocol/workflow/execution.go", "x.grows(v) || t.Effect == Undo || t.Effect == None", "x.grows(v) || t.Effect == None"),
	mistake(Tests, "a repeat waits for what was lost since it began",
		"protocol/workflow/execution.go", "return x.repeated(v) && len(x.Tasks[v].Writes) == 0", "return false"),
	mistake(Tests, "an effect that stays is not recorded",
		"protocol/workflow/run_outcome.go", "		r.leave(d.Task)\n", ""),
	mistake(Tests, "a signal is answered before it is durable",
		"protocol/workflow/run_wait.go", "	s := r.signals.put(rec)\n", "	s := r.signals.put(rec)\n	answer(ev.ID, nil)\n"),
	mistake(Tests, "a run that sleeps is not loaded in its minute",
		"protocol/workflow/controller_keep.go", "	c.expire()\n	c.wake()\n", "	c.expire()\n"),
	mistake(Tests, "each controller has a ledger's clock of its own",
		"protocol/workflow/controller_take.go", "c.cfg.Run.Clock = time.Duration(c.minutes)*minute - c.now", "c.cfg.Run.Clock = -c.now"),
	mistake(Tests, "tasks of a returned graph run functions of the run's",
		"protocol/workflow/hosted.go", "if w, is := work.(*Work); is {", "if w, is := work.(*Work); is && w == nil {"),
	mistake(Tests, "the output of a task that has returned a graph is looked for under its own name",
		"protocol/workflow/run_host.go", "	v = r.Maker(v)\n	t := &r.tasks[v]\n", "	t := &r.tasks[v]\n"),
	mistake(Tests, "a controller does not hear that a checkpoint is lost",
		"protocol/workflow/controller_attempts.go", "		c.unsaved(b)\n", "		_ = b\n"),
	mistake(Tests, "the objects that a result names are dropped as the run ends",
		"protocol/workflow/controller_run.go", "Spares: spares(h.result.Outputs)", "Spares: nil"),
	mistake(Tests, "a member that was away drops what a result names",
		"protocol/workflow/controller_stray.go", "Spares: spares(outputs)", "Spares: nil"),
	mistake(Tests, "what members have of a run that this version cannot read is dropped",
		"protocol/workflow/controller_stray.go", "c.unlessRow(u, activeKey(u), func() { c.strayed(u) })", "c.strayed(u)"),
	mistake(Tests, "a checkpoint goes to the disk that has just failed again",
		"protocol/workflow/controller_save.go", "x != y {", "x != y && false {"),
	mistake(Tests, "a disk that does not answer holds a checkpoint up for ever",
		"protocol/workflow/controller_save.go", "	c.saveFailed(s, \"no answer of the disks of nodes\"+late)\n", "	_ = late\n"),
	mistake(Tests, "the next attempt is given the progress of one whose output was dropped",
		"protocol/workflow/controller_beat.go", "p.gen == h.run.tasks[v].gen", "p.gen <= h.run.tasks[v].gen"),
	mistake(Tests, "progress is kept of a task that has ended",
		"protocol/workflow/controller_attempts.go", "		c.setProgress(h, v, nil)\n", ""),
	mistake(Tests, "a workflow is checked again in the controller",
		"protocol/workflow/work.go", "if w.events == nil {\n		return w.check()", "if true {\n		return w.check()"),
	mistake(Tests, "an undo gets nothing for an output that was dropped",
		"protocol/workflow/run_outcome.go", "if r.x.facts[o.Task]&ended == 0 { // it was", "if false { // it was"),
	mistake(Tests, "the ledger is given more at once than it takes",
		"protocol/workflow/controller_rows.go", "if c.onWay+is.bytes >= mostWritten {", "if false {"),
	mistake(Tests, "a checkpoint is lost though a disk is away that may have it",
		"node/workflow/restorer.go", "if len(w.lost) == len(w.Disks) {", "if len(w.lost) > 0 {"),
	mistake(Tests, "a checkpoint is waited for as long as members come and go",
		"node/workflow/restorer.go", "until = min(until, r.changed+strayMost)", "until = r.changed + strayMost"),
	mistake(Tests, "a checkpoint is waited for as long as views change",
		"node/workflow/restorer.go", "if !slices.Equal(members, r.members) {", "if true {"),
	mistake(Tests, "a disk that was not named says that a checkpoint is lost",
		"node/workflow/restorer.go", "a.Lost && slices.Contains(w.Disks, a.Disk) &&", "a.Lost &&"),
	mistake(Tests, "a lost copy of a checkpoint is not written again",
		"node/workflow/restorer.go", "if slices.Contains(r.members, n) {\n				r.out", "if false {\n				r.out"),
	mistake(Tests, "a task that needs some of its inputs waits for all of them",
		"protocol/workflow/events.go", "-= int32(s.spare(v))", "-= 0 * int32(s.spare(v))"),
	mistake(Tests, "a task that needs some of its inputs gets those that have not ended as well",
		"protocol/workflow/some.go", "if i >= reads || x.usable(p) {", "if i >= 0*reads || x.usable(p) {"),
	mistake(Tests, "a task does not begin with an input that comes in place of a lost one",
		"protocol/workflow/events.go", "if e.lacks[c]--; e.lacks[c] <= 0 {", "if e.lacks[c]--; e.lacks[c] == 0 {",
		"protocol/workflow/events.go", "if e.lacks[d]--; e.lacks[d] <= 0 {", "if e.lacks[d]--; e.lacks[d] == 0 {"),
	mistake(Tests, "a task that needs some of its inputs begins before what it only follows has ended",
		"protocol/workflow/some.go", "return x.has(v) >= int(x.Tasks[v].Needs) && x.followed(v)", "return x.has(v) >= int(x.Tasks[v].Needs)",
		"protocol/workflow/some.go", "return !slices.ContainsFunc(e.Tasks[v].After, func(p int) bool { return !e.happened[e.counts(p)] })", "return true"),
	mistake(Tests, "a lost input is made again though enough others are left",
		"protocol/workflow/execution.go", "if s.spare(int(x.local[v])) == 0 || !x.enough(v) {", "if true {"),
	mistake("messages", "the inputs of a reduce that goes without some of them are mixed up",
		"messages/workflow_job.go", "if !given {", "if false && !given {"),
	mistake(Workflows, "a reduce begins with fewer arrays than it combines",
		"messages/graph.go", "if needs = max(1, needs); needs >= len(reads) {", "if needs = max(1, needs-1); needs >= len(reads) {"),
}
