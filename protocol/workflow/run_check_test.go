package workflow

// end has a run end without faults, and looks at it.
func (s *stage) end() {
	for n := 0; !s.run.Closed() || len(s.queue) > 0; n++ {
		if n%100 == 99 && len(s.run.Lacks()) > 0 {
			s.accept()
		}
		if n > 20_000 {
			s.fail("it does not end: %d jobs, %d appends, %d saves; recovering %v; failing %q, over %v, lacks %v, waits %v", len(s.jobs), len(s.queue), len(s.saving), s.run.x.Recovering(), s.run.failing, s.run.over, s.run.Lacks(), s.run.waits)
		}
		s.happen(false)
	}
	s.check()
}

// check looks at the end of a run: results are saved, and effects are those of one run without
// failures; or, if the run has gone back, those that nothing takes back and what is above them.
func (s *stage) check() {
	at := func(v int) place { return place{v, s.run.tasks[v].gen, s.run.tasks[v].made} }
	for v, all := range s.journal {
		if s.run.x.scope(v) == nil && len(all) > 0 && !s.waived {
			s.fail("(1) the effect of %d is left, which was dropped", v)
		}
	}
	s.met["went back"] += min(1, len(s.run.failing))
	for _, v := range s.run.x.line() {
		task := s.run.x.Tasks[v]
		if s.run.failing != "" {
			stays := task.Effect == Idempotent
			for _, w := range s.run.x.line() {
				stays = stays || s.run.x.Tasks[w].Effect == Idempotent && s.run.x.facts[w]&begun != 0 && s.isBelow(v, w)
			}
			if len(s.journal[v]) > 0 && !s.waived && (!stays || task.Compensates && s.run.x.facts[v]&ended != 0 && s.run.tasks[v].output.Error == "") {
				s.fail("(1) the effect of %d is left", v)
			}
			continue
		}
		if _, ok := s.output(v); s.run.x.sink[v] && !ok {
			s.fail("the result of %d is not saved", v)
		}
		if task.Event != "" {
			s.met["event"]++
			o := s.run.tasks[v].output
			s.step(Signal{Name: task.Event, ID: string(o.Bytes)})
			if string(o.Bytes) != s.taken[task.Event] {
				s.fail("(2) the signal of %d is %q, and %q was acknowledged", v, o.Bytes, s.taken[task.Event])
			}
		}
		caught := s.run.tasks[v].output.Error != ""
		if task.Effect != None && len(s.journal[v]) != 1 && !caught && !s.waived {
			s.fail("(1) outsiders see %d effects of %d", len(s.journal[v]), v)
		}
		if caught && task.Effect == Undo && len(s.journal[v]) > 0 && !s.waived {
			s.fail("(1) %d has failed, and its effect is left", v)
		}
		for i, p := range s.from[at(v)] { // an output is made of the outputs that there are
			hash, ok := s.output(int(p))
			if inputs := s.madeOf[at(v)]; ok && inputs != nil && s.run.x.facts[v]&ended != 0 && !s.run.x.expanded(v) && inputs[i+1] != hash {
				s.fail("(1) the output of %d is made of %x, and %d is %x", v, inputs[i+1], p, hash)
			}
		}
		for _, e := range s.journal[v] {
			for i, p := range s.run.x.parents(v) {
				if saved, ok := s.disk[at(s.run.Maker(int(p)))]; ok && saved != e.inputs[i+1] && !s.waived {
					s.fail("(1) the effect of %d is made of %x, and %d is %x", v, e.inputs[i+1], p, saved)
				}
			}
			if saved, ok := s.disk[at(v)]; ok && saved != e.answer && !caught && !task.Expands && !s.waived {
				s.fail("(1) the effect of %d is %x, and its output %x", v, e.answer, saved)
			}
		}
	}
}
