package workflow

import (
	"encoding/binary"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var stages = flag.Int("workflow.runs", 20_000, "how many random runs to make")

// stage runs a workflow on nodes that fail, under controllers that die. It keeps a journal of what
// outsiders see.
type stage struct {
	t     *testing.T
	seed  uint64
	r     *rand.Rand
	g     *Graph
	e     *Events
	run   *Run
	epoch uint64
	now   time.Duration

	log     []Record // durable
	queue   []Append // not yet
	jobs    []*job
	memory  map[int]value    // outputs in memory, by task
	disk    map[place]uint64 // checkpoints
	saving  []saving
	journal map[int][]effect      // active effects, by task
	answers map[int]effect        // of idempotent tasks, by their keys
	late    []Outcome             // told a second time, later
	base    time.Duration         // when the controller's clock began
	lag     time.Duration         // of the ledger's clock
	slept   map[int]time.Duration // since when a task sleeps
	taken   map[string]string     // acknowledged signals: their ids, by name
	met     map[string]int
}

type value struct {
	gen  uint32
	made Attempt
	hash uint64
}

// place is where a checkpoint is.
type place struct {
	task int
	gen  uint32
	made Attempt
}

// saving is a checkpoint on its way to the disk.
type saving struct {
	place
	hash uint64
	ok   bool // the output was there
}

// job is an attempt on a node.
type job struct {
	d      Dispatch
	inputs []uint64
	failed string
	output uint64 // of the task, for its compensation
	ends   bool   // it was canceled
}

type effect struct {
	attempt Attempt
	inputs  []uint64
	answer  uint64
}

func (s *stage) fail(format string, args ...any) {
	s.t.Helper()
	text := ""
	for v := range s.g.Tasks {
		text += fmt.Sprintf("\n  %d %+v", v, s.g.Tasks[v])
	}
	s.t.Fatalf("seed %d: %s%s", s.seed, fmt.Sprintf(format, args...), text)
}

// takeOver begins a controller, which reads the log and asks who runs what.
func (s *stage) takeOver() {
	s.epoch++
	e, err := Check(s.g)
	if err != nil {
		s.t.Fatal(err)
	}
	s.queue, s.saving = nil, nil
	s.base = s.now
	s.lag += time.Duration(s.r.IntN(50)) * time.Millisecond
	s.run = NewRun(RunConfig{Epoch: s.epoch, Retries: 1 << 20, Losses: 1 << 20, Clock: s.base - s.lag}, e, s.log)
	for v, m := range s.memory {
		if s.run.tasks[v].gen == m.gen {
			s.run.Has(v, m.made)
		}
	}
	var all []*job
	for _, j := range s.jobs {
		if t := &s.run.tasks[j.d.Task]; j.d.Kind == Do && s.recorded(j.d) && t.gen == j.d.Gen && s.run.x.facts[j.d.Task]&(ended|drops) == 0 {
			s.run.Adopt(j.d.Task, j.d.Attempt, j.d.Kind)
			all = append(all, j)
			continue
		}
		// Nobody knows of it: it is ended, and has ended, before anything else is dispatched.
	}
	s.jobs = all
	s.step(Tick{})
}

func (s *stage) recorded(d Dispatch) bool {
	return slices.Contains(s.log, Record(Begun{Task: d.Task, Gen: d.Gen, Attempt: d.Attempt}))
}

func (s *stage) step(ev RunEvent) {
	for _, e := range s.run.Step(s.now-s.base, ev) {
		switch e := e.(type) {
		case Append:
			s.sleeps(e.Records)
			s.queue = append(s.queue, e)
		case Dispatch:
			s.dispatch(e)
		case Cancel:
			for _, j := range s.jobs {
				if j.d.Attempt == e.Attempt {
					j.ends = true
				}
			}
		case Save:
			m, ok := s.memory[e.Task]
			s.saving = append(s.saving, saving{place{e.Task, e.Gen, e.Made}, m.hash, ok && m.gen == e.Gen && m.made == e.Made})
		case SignalTaken:
			if id, ok := s.taken[e.Name]; ok && (id == e.ID) != (e.Err == nil) {
				s.fail("(2) the signal %s %s counts, and %s is answered %v", e.Name, id, e.ID, e.Err)
			}
			if e.Err == nil {
				s.taken[e.Name] = e.ID
			}
		case Stuck:
			s.fail("it is stuck: %s", e.Why)
		}
	}
}

// sleeps checks that sleeps are not too short.
func (s *stage) sleeps(all []Record) {
	for _, rec := range all {
		switch rec := rec.(type) {
		case Slept:
			s.slept[rec.Task] = s.now
		case Ended:
			if t := &s.g.Tasks[rec.Task]; t.Sleep > 0 {
				if s.now-s.slept[rec.Task] < t.Sleep {
					s.fail("%d sleeps for %v instead of %v", rec.Task, s.now-s.slept[rec.Task], t.Sleep)
				}
				s.met["sleep"]++
			}
		}
	}
}

// send sends a signal for an event of the graph, whose bytes are its id.
func (s *stage) send() {
	v := s.r.IntN(len(s.g.Tasks))
	if name := s.g.Tasks[v].Event; name != "" {
		id := fmt.Sprintf("%8d", s.r.IntN(3))
		s.step(Signal{Name: name, ID: id, Bytes: []byte(id)})
	}
}

func (s *stage) dispatch(d Dispatch) {
	j := &job{d: d}
	if s.g.Tasks[d.Task].Effect != None && d.Kind == Do && !s.recorded(d) {
		s.fail("(9) task %d begins before its record is durable", d.Task)
	}
	for _, p := range s.e.shape.parents(d.Task) {
		hash, ok := s.output(int(p))
		if !ok {
			j.failed = fmt.Sprintf("the output of %d is gone", p)
		}
		j.inputs = append(j.inputs, hash)
	}
	if d.Kind == MakeUp {
		var ok bool
		if j.output, ok = s.output(d.Task); !ok {
			j.failed = "its output is gone"
		}
	}
	s.jobs = append(s.jobs, j)
}

// output returns the present output of a task; false: it cannot be had.
func (s *stage) output(v int) (hash uint64, ok bool) {
	gen := s.run.tasks[v].gen
	if o := s.run.tasks[v].output; o.Recorded && s.run.x.facts[v]&durable != 0 {
		return hashOf(o), true
	}
	if m, ok := s.memory[v]; ok && m.gen == gen && m.made == s.run.tasks[v].made {
		return m.hash, true
	}
	hash, ok = s.disk[place{v, gen, s.run.tasks[v].made}]
	return hash, ok
}

func hashOf(o Output) uint64 {
	if len(o.Bytes) == 8 { // a signal
		return binary.BigEndian.Uint64(o.Bytes)
	}
	return binary.BigEndian.Uint64(o.Digest[:])
}

// act has outsiders see what an attempt does. It returns its answer.
func (s *stage) act(j *job) uint64 {
	v, t := j.d.Task, s.g.Tasks[j.d.Task]
	h := fnv.New64a()
	fmt.Fprint(h, v, j.inputs)
	if !t.Deterministic {
		fmt.Fprint(h, s.r.Uint64())
	}
	answer := h.Sum64()
	switch {
	case j.d.Kind == TakeBack:
		s.journal[v] = slices.DeleteFunc(s.journal[v], func(e effect) bool {
			if j.d.Fence.Less(e.attempt) {
				return false
			}
			if !slices.Equal(e.inputs, j.inputs) {
				s.fail("(5) the undo of %d gets %x, and the task had %x", v, j.inputs, e.inputs)
			}
			return true
		})
		s.met["undo"]++
		for w := range s.g.Tasks {
			if s.run.x.Tasks[w].Irreversible() && len(s.journal[w]) > 0 && s.isBelow(v, w) {
				s.fail("(6) %d is undone above %d, which has begun", v, w)
			}
		}
	case j.d.Kind == MakeUp:
		for _, e := range s.journal[v] {
			if !slices.Equal(e.inputs, j.inputs) || j.output != e.answer {
				s.fail("(5) the compensation of %d gets %x and %x, and the task had %x and %x", v, j.inputs, j.output, e.inputs, e.answer)
			}
		}
		s.journal[v] = nil
		s.met["compensation"]++
	case t.Effect == Idempotent && (j.d.Kind == Do || j.d.Kind == Remake):
		if old, ok := s.answers[v]; ok { // the service remembers the key, also after a compensation
			if !slices.Equal(old.inputs, j.inputs) {
				s.fail("(6) %d runs again with other inputs", v)
			}
			s.met["repeat under the same key"]++
			return old.answer
		}
		s.answers[v] = effect{j.d.Attempt, j.inputs, answer}
		s.journal[v] = []effect{s.answers[v]}
	case t.Effect == Undo && j.d.Kind == Do:
		s.journal[v] = append(s.journal[v], effect{j.d.Attempt, j.inputs, answer})
	}
	return answer
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
		for v := range s.g.Tasks {
			if m, ok := s.memory[v]; ok && s.r.IntN(3) == 0 {
				delete(s.memory, v)
				s.met["output lost"]++
				s.step(Gone{Task: v, Gen: m.gen})
			}
		}
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

// finish ends a job: well, with an error, or with its node; before its effect or after it.
func (s *stage) finish(i int, faults bool) {
	j := s.jobs[i]
	s.jobs = slices.Delete(s.jobs, i, i+1)
	o := Outcome{Task: j.d.Task, Attempt: j.d.Attempt, Kind: j.d.Kind, Failed: j.failed}
	k := 9
	if faults {
		k = s.r.IntN(10)
	}
	var answer uint64
	if o.Failed == "" && k != 0 {
		answer = s.act(j)
	}
	switch {
	case k < 2:
		o.Lost = true
	case k == 2:
		o.Failed, o.Final = cmpOr(o.Failed, "an error after its effect"), j.d.Kind == Do && s.r.IntN(10) == 0
	case j.ends && s.r.IntN(2) == 0:
		o.Failed = cmpOr(o.Failed, "canceled")
	case o.Failed == "" && j.d.Kind != TakeBack:
		if t := &s.run.tasks[j.d.Task]; t.running == j.d.Attempt && !(t.ending && j.d.Kind == Do) {
			made := t.running
			if j.d.Kind == Remake {
				made = t.made
			}
			s.memory[j.d.Task] = value{t.gen, made, answer}
		}
		binary.BigEndian.PutUint64(o.Output.Digest[:], answer)
		o.Output.Recorded = s.r.IntN(3) == 0
	}
	s.step(o)
	if s.r.IntN(4) == 0 {
		s.late = append(s.late, o)
	}
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// A run ends as if nothing had failed, whatever fails.
func TestRunsEndAsIfNothingHadFailed(t *testing.T) {
	met := map[string]int{}
	for seed := range uint64(*stages) {
		r := rand.New(rand.NewPCG(seed, 13))
		g := randomGraph(r, 1+r.IntN(7))
		e, err := Check(g)
		if err != nil {
			continue
		}
		s := &stage{t: t, seed: seed, r: r, g: g, e: e, memory: map[int]value{}, disk: map[place]uint64{}, journal: map[int][]effect{}, answers: map[int]effect{}, met: met,
			slept: map[int]time.Duration{}, taken: map[string]string{}}
		for v := range g.Tasks {
			task := &g.Tasks[v]
			if r.IntN(8) == 0 {
				wait(r, task)
				continue
			}
			task.Compensates = task.Effect != None && r.IntN(4) == 0
			task.Caught = task.Checkpoint != Off && r.IntN(6) == 0
		}
		if s.e, err = Check(g); err != nil {
			continue
		}
		s.takeOver()
		for range 40 * len(g.Tasks) {
			s.happen(true)
		}
		for n := 0; !s.run.Closed() || len(s.queue) > 0; n++ {
			if n > 20_000 {
				s.fail("it does not end: %d jobs, %d appends, %d saves; recovering %v; %+v", len(s.jobs), len(s.queue), len(s.saving), s.run.x.Recovering(), s.run.tasks)
			}
			s.happen(false)
		}
		s.check()
	}
	t.Log(met)
}

// check looks at the end of a run: results are saved, and effects are those of one run without
// failures; or, if the run has gone back, those that nothing takes back and what is above them.
func (s *stage) check() {
	at := func(v int) place { return place{v, s.run.tasks[v].gen, s.run.tasks[v].made} }
	s.met["went back"] += min(1, len(s.run.failing))
	for v := range s.g.Tasks {
		task := &s.g.Tasks[v]
		if s.run.failing != "" {
			stays := task.Effect == Idempotent
			for w := range s.g.Tasks {
				stays = stays || s.g.Tasks[w].Effect == Idempotent && s.run.x.facts[w]&begun != 0 && s.isBelow(v, w)
			}
			if len(s.journal[v]) > 0 && (!stays || task.Compensates && s.run.x.facts[v]&ended != 0 && s.run.tasks[v].output.Error == "") {
				s.fail("(1) the effect of %d is left", v)
			}
			continue
		}
		if _, ok := s.output(v); s.e.sink[v] && !ok {
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
		if task.Effect != None && len(s.journal[v]) != 1 && !caught {
			s.fail("(1) outsiders see %d effects of %d", len(s.journal[v]), v)
		}
		if caught && task.Effect == Undo && len(s.journal[v]) > 0 {
			s.fail("(1) %d has failed, and its effect is left", v)
		}
		for _, e := range s.journal[v] {
			for i, p := range s.e.shape.parents(v) {
				if saved, ok := s.disk[at(int(p))]; ok && saved != e.inputs[i] {
					s.fail("(1) the effect of %d is made of %x, and %d is %x", v, e.inputs[i], p, saved)
				}
			}
			if saved, ok := s.disk[at(v)]; ok && saved != e.answer && !caught {
				s.fail("(1) the effect of %d is %x, and its output %x", v, e.answer, saved)
			}
		}
	}
}

// The work for an event does not grow with the number of tasks: a run of a hundred thousand tasks
// takes as long for each as one of a thousand, also after outputs were lost that nobody needs.
func BenchmarkRun(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		for _, loses := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/loses=%v", n, loses), func(b *testing.B) { benchmarkRun(b, n, loses) })
		}
	}
}

func benchmarkRun(b *testing.B, n int, loses bool) {
	g := &Graph{Tasks: make([]Task, n)}
	for v := range g.Tasks {
		g.Tasks[v] = Task{Deterministic: v%2 == 0, Effect: None}
		if v > 0 && v%10 != 0 {
			g.Tasks[v].Reads = []int{v - 1}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		e, err := Check(g)
		if err != nil {
			b.Fatal(err)
		}
		r := NewRun(RunConfig{Epoch: 1}, e, nil)
		todo := r.Step(0, Tick{})
		for len(todo) > 0 {
			next := todo[0]
			todo = todo[1:]
			switch d := next.(type) {
			case Append:
				todo = append(todo, r.Step(0, Durable{d.Number})...)
			case Dispatch:
				todo = append(todo, r.Step(0, Outcome{Task: d.Task, Attempt: d.Attempt})...)
			case Save:
				todo = append(todo, r.Step(0, Checkpointed{Task: d.Task, Gen: d.Gen, Made: d.Made})...)
				if loses && d.Task < 10 {
					todo = append(todo, r.Step(0, Gone{Task: d.Task, Gen: d.Gen})...)
				}
			}
		}
		if !r.Closed() {
			b.Fatal("the run is not closed")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/task")
}
