package workflow

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// takeOver begins a controller, which reads the log and asks who runs what.
func (s *stage) takeOver() {
	s.epoch++
	e, err := Check(s.g)
	if err != nil {
		s.t.Fatal(err)
	}
	s.queue, s.saving = nil, nil
	s.recordLosses()
	s.base = s.now
	s.lag += time.Duration(s.r.IntN(50)) * time.Millisecond
	s.run = NewRun(RunConfig{Epoch: s.epoch, Retries: 1 << 20, Losses: 1 << 20, Clock: s.base - s.lag}, e, s.log)
	for v, m := range s.memory {
		if v < len(s.run.tasks) && s.run.x.scope(v) != nil && s.run.tasks[v].gen == m.gen {
			s.run.Has(v, m.made)
		}
	}
	var all []*job
	for _, j := range s.jobs {
		if j.d.Kind == Do && s.recorded(j.d) && s.run.tasks[j.d.Task].gen == j.d.Gen && s.run.x.scope(j.d.Task) != nil && s.run.x.facts[j.d.Task]&(ended|drops) == 0 {
			s.run.Adopt(j.d.Task, j.d.Attempt, j.d.Kind)
			all = append(all, j)
			continue
		}
		// Nobody knows of it: it is ended, and has ended, before anything else is dispatched.
	}
	s.jobs = all
	s.step(Tick{})
}

// recordLosses has the log say which checkpoints are lost, as if what was told of them had become durable.
func (s *stage) recordLosses() {
	lost := map[place]bool{}
	var all []place
	for _, rec := range s.log {
		switch rec := rec.(type) {
		case Saved:
			at := place{rec.Task, rec.Gen, rec.Made}
			_, ok := s.disk[at]
			if lost[at] = !ok; !ok {
				all = append(all, at)
			}
		case Unsaved:
			lost[place{rec.Task, rec.Gen, rec.Made}] = false
		}
	}
	for _, at := range all {
		if lost[at] {
			lost[at] = false
			s.log = append(s.log, Unsaved{Task: at.task, Gen: at.gen, Made: at.made})
		}
	}
}

func (s *stage) isBelow(v, w int) bool {
	below := false
	s.run.x.below(v, func(u int) { below = below || u == w })
	return below
}

// happen makes something random happen. Without faults the run goes on.
func (s *stage) happen(faults bool) {
	s.now += time.Duration(s.r.IntN(100)) * time.Millisecond
	k := s.r.IntN(20)
	switch {
	case k < 5 && len(s.queue) > 0:
		a := s.queue[0]
		s.queue = s.queue[1:]
		s.log = append(s.log, a.Records...)
		if s.dies--; s.dies == 0 {
			s.takeOver()
			return
		}
		s.step(Durable{a.Number})
	case k < 12 && len(s.jobs) > 0:
		s.finish(s.r.IntN(len(s.jobs)), faults)
	case k < 15 && len(s.saving) > 0:
		i := s.r.IntN(len(s.saving))
		sv := s.saving[i]
		s.saving = slices.Delete(s.saving, i, i+1)
		if !sv.ok {
			s.step(Checkpointed{Task: sv.task, Gen: sv.gen, Made: sv.made, Failed: "its output is gone"})
			return
		}
		s.disk[sv.place] = sv.hash
		s.step(Checkpointed{Task: sv.task, Gen: sv.gen, Made: sv.made})
	case k == 19:
		s.send()
	case k == 17 && len(s.late) > 0:
		o := s.late[0]
		s.late = s.late[1:]
		s.step(o)
	case !faults:
		s.step(Tick{})
	case k == 15:
		for v := range s.run.x.Tasks {
			if m, ok := s.memory[v]; ok && s.r.IntN(3) == 0 {
				delete(s.memory, v)
				s.met["output lost"]++
				s.step(Gone{Task: v, Gen: m.gen})
			}
		}
	case k == 14 && s.loses && !s.run.over && s.r.IntN(2) == 0:
		s.loseCheckpoints()
	case k == 18 && s.loses && len(s.run.Lacks()) > 0 && s.r.IntN(4) == 0:
		s.accept()
	case k == 18 && s.r.IntN(200) == 0:
		s.step(Abort{Cause: "somebody wants it"})
	case k == 16 && s.r.IntN(3) == 0:
		s.met["controller dies"]++
		for range s.r.IntN(len(s.queue) + 1) { // these got to the disks, and nobody was told
			s.log = append(s.log, s.queue[0].Records...)
			s.queue = s.queue[1:]
		}
		s.takeOver()
	default:
		s.step(Tick{})
	}
}

// loseCheckpoints has disks lose some checkpoints.
func (s *stage) loseCheckpoints() {
	for v := range s.run.x.Tasks {
		at := place{v, s.run.tasks[v].gen, s.run.tasks[v].made}
		if _, ok := s.disk[at]; ok && s.r.IntN(4) == 0 {
			delete(s.disk, at)
			s.met["checkpoint lost"]++
			s.step(Unsaved{Task: v, Gen: at.gen, Made: at.made})
		}
	}
}

// tellGone tells the run what an attempt has missed.
func (s *stage) tellGone(at place) {
	if s.run.tasks[at.task].output.Recorded && s.run.x.saves(at.task) { // it is in the ledger, or soon
		return
	}
	if m, ok := s.memory[at.task]; !ok || m.gen != at.gen || m.made != at.made {
		s.step(Gone{Task: at.task, Gen: at.gen})
	}
	if _, ok := s.disk[at]; !ok {
		s.step(Unsaved{Task: at.task, Gen: at.gen, Made: at.made})
	}
}

// accept has the run go on without what is lost.
func (s *stage) accept() {
	s.met["loss accepted"]++
	s.waived = true
	s.step(Resume{AcceptLoss: true})
}

// finish ends a job: well, with an error, or with its node; before its effect or after it.
func (s *stage) finish(i int, faults bool) {
	j := s.jobs[i]
	for len(j.refs) > 0 && !j.ends {
		hash, ok := s.output(j.refs[0])
		if !ok {
			if s.run.failing != "" || j.d.Kind != Do {
				j.failed = "what it reads beside its inputs is gone"
				break
			}
			s.met["wait for a Ref"]++
			if s.loses {
				s.tellGone(s.place(j.refs[0]))
			}
			s.step(Tick{})
			return
		}
		j.inputs, j.refs = append(j.inputs, hash), j.refs[1:]
	}
	s.jobs = slices.Delete(s.jobs, i, i+1)
	o := Outcome{Task: j.d.Task, Attempt: j.d.Attempt, Kind: j.d.Kind, Failed: j.failed}
	if j.failed != "" && s.loses { // it did not begin
		for _, at := range j.gone {
			s.tellGone(at)
		}
		o.Lost = true
		s.step(o)
		return
	}
	k := 9
	if faults {
		k = s.r.IntN(10)
	}
	var answer uint64
	if o.Failed == "" && k != 0 && len(j.refs) == 0 {
		answer = s.act(j)
	}
	switch {
	case k < 2:
		o.Lost = true
	case k == 2:
		o.Failed, o.Final = cmpOr(o.Failed, "an error after its effect"), j.d.Kind == Do && s.r.IntN(10) == 0
	case j.ends && (s.r.IntN(2) == 0 || len(j.refs) > 0):
		o.Failed = cmpOr(o.Failed, "canceled")
	case o.Failed == "" && j.d.Kind == Do && s.run.x.Tasks[j.d.Task].Expands && s.expand(&o, answer):
	case o.Failed == "" && j.d.Kind != TakeBack:
		if t := &s.run.tasks[j.d.Task]; t.running == j.d.Attempt && !(t.ending && j.d.Kind == Do) {
			made := t.running
			if j.d.Kind == Remake {
				made = t.made
			}
			s.memory[j.d.Task] = value{t.gen, made, answer}
			s.madeOf[place{j.d.Task, t.gen, made}], s.from[place{j.d.Task, t.gen, made}] = j.inputs, j.from
		}
		binary.BigEndian.PutUint64(o.Output.Digest[:], answer)
		o.Output.Recorded = s.r.IntN(3) == 0
	}
	s.step(o)
	if s.r.IntN(4) == 0 {
		s.late = append(s.late, o)
	}
}

// expand has an attempt return a graph. It reports whether it does.
func (s *stage) expand(o *Outcome, answer uint64) bool {
	parent, saved := s.run.x.Tasks[o.Task], s.run.x.saves(o.Task)
	r := s.r
	if parent.Deterministic {
		r = rand.New(rand.NewPCG(answer, 5))
	}
	if len(s.run.x.Tasks) > 60 {
		return false
	}
	for range 20 {
		n := 1 + r.IntN(4)
		g := randomGraph(r, n)
		for v := range g.Tasks {
			t := &g.Tasks[v]
			s.vary(r, t)
			t.Name = fmt.Sprint(answer, v)
			if len(t.Reads) > 1 && !t.waits() && r.IntN(3) == 0 {
				needs(r, t)
			}
			if parent.Deterministic {
				t.Deterministic, t.Caught, t.Needs = true, false, 0
			}
			if !saved {
				t.Checkpoint, t.Effect, t.Compensates, t.Caught, t.Event, t.Sleep = Off, None, false, false, "", 0
			}
		}
		last := &g.Tasks[n-1]
		for v, is := range shapeOf(g).sink[:n-1] {
			if is {
				last.After = append(last.After, v)
			}
		}
		if saved && !parent.Deterministic {
			actors(r, g)
			last.Actor, last.Snapshot = false, false
		}
		if _, err := CheckExpansion(parent, saved, g); err == nil {
			o.Graph, o.Work = g, answer
			s.met["expansion"]++
			return true
		}
	}
	return false
}

// vary gives a task what randomGraph does not.
func (s *stage) vary(r *rand.Rand, task *Task) {
	if r.IntN(8) == 0 {
		wait(r, task)
		return
	}
	if r.IntN(5) == 0 && task.Effect != Undo {
		task.Expands = true
		return
	}
	task.Compensates = task.Effect != None && r.IntN(4) == 0 && (task.Effect != Undo || task.Checkpoint != Off)
	task.Caught = task.Checkpoint != Off && r.IntN(6) == 0
}
