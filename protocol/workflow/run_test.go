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

var (
	stages = flag.Int("workflow.runs", 20_000, "how many random runs to make")
	first  = flag.Uint64("workflow.first", 0, "the seed of the first")
)

// stage runs a workflow on nodes that fail, under controllers that die. It keeps a journal of what
// outsiders see.
type stage struct {
	t     *testing.T
	seed  uint64
	r     *rand.Rand
	g     *Graph
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
	madeOf  map[place][]uint64    // the inputs of outputs
	taken   map[string]string     // acknowledged signals: their ids, by name
	met     map[string]int
	loses   bool // checkpoints may be lost on all disks
	dies    int  // the controller does as so many Appends are durable
	waived  bool // a loss was accepted: outsiders may see more
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
	refs   []int // tasks whose outputs it reads as well, which the one that has returned its graph has passed on
	failed string
	output uint64  // of the task, for its compensation
	ends   bool    // it was canceled
	gone   []place // inputs that nobody has
}

type effect struct {
	attempt Attempt
	inputs  []uint64
	answer  uint64
}

func (s *stage) fail(format string, args ...any) {
	s.t.Helper()
	text := ""
	for _, v := range s.run.x.line() {
		text += fmt.Sprintf("\n  %d %s reads %v facts %08b %+v", v, s.run.Name(v), s.run.x.parents(v), s.run.x.facts[v], s.run.x.Tasks[v])
	}
	for _, rec := range s.log {
		text += fmt.Sprintf("\n  %T%+v", rec, rec)
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
			if !slices.Contains(s.run.Lacks(), e.Task) || !s.loses {
				s.fail("it is stuck: %s", e.Why)
			}
			s.met["lost for good"]++
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
			if t := &s.run.x.Tasks[rec.Task]; t.Sleep > 0 {
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
	v := s.r.IntN(len(s.run.x.Tasks))
	if name := s.run.x.Tasks[v].Event; name != "" {
		id := fmt.Sprintf("%8d", s.r.IntN(3))
		s.step(Signal{Name: name, ID: id, Bytes: []byte(id)})
	}
}

func (s *stage) dispatch(d Dispatch) {
	j := &job{d: d}
	if s.run.x.Tasks[d.Task].Effect != None && d.Kind == Do && !s.recorded(d) {
		s.fail("(9) task %d begins before its record is durable", d.Task)
	}
	h := fnv.New64a()
	fmt.Fprint(h, s.run.x.Tasks[d.Task].Name) // it has what its graph was made of
	j.inputs = append(j.inputs, h.Sum64())
	for _, p := range s.run.x.parents(d.Task) {
		hash, ok := s.output(int(p))
		if !ok {
			j.failed = fmt.Sprintf("the output of %d is gone", p)
			j.gone = append(j.gone, s.place(int(p)))
		}
		j.inputs = append(j.inputs, hash)
	}
	if o := s.run.x.scope(d.Task).owner; o >= 0 {
		for _, p := range s.run.x.parents(o) {
			j.refs = append(j.refs, int(p))
		}
	}
	if d.Kind == MakeUp {
		var ok bool
		if j.output, ok = s.output(d.Task); !ok {
			j.failed = "its output is gone"
			j.gone = append(j.gone, s.place(d.Task))
		}
	}
	if d.Kind == Do || d.Kind == Remake {
		s.moves(d)
	}
	s.jobs = append(s.jobs, j)
}

// moves has the versions of actors that an attempt writes go to where it is.
func (s *stage) moves(d Dispatch) {
	base := s.run.x.scope(d.Task).base
	for _, p := range s.run.x.Tasks[d.Task].Writes {
		for _, j := range s.jobs {
			t := &s.run.x.Tasks[j.d.Task]
			if _, in := s.memory[base+p]; in && s.run.x.scope(j.d.Task).base == base && slices.Contains(t.Reads, p) && j.d.Task != d.Task && (j.d.Kind == Do || j.d.Kind == Remake) {
				s.fail("(8) %d writes the version of %d, which %d reads or writes", d.Task, base+p, j.d.Task)
			}
		}
		delete(s.memory, base+p)
		s.met["write"]++
	}
}

// actors has some tasks make actors, which others write and read.
func actors(r *rand.Rand, g *Graph) {
	sink := shapeOf(g).sink
	for p := range g.Tasks {
		t := &g.Tasks[p]
		if r.IntN(4) > 0 || t.waits() || t.Expands || t.Caught {
			continue
		}
		t.Actor, t.Snapshot = true, sink[p] || r.IntN(2) == 0
		t.Compensates = t.Compensates && t.Snapshot
		for w := p + 1; w < len(g.Tasks); w++ {
			if c := &g.Tasks[w]; slices.Contains(c.Reads, p) && !c.Expands && !c.waits() && r.IntN(2) == 0 {
				c.Writes = append(c.Writes, p)
				break
			}
		}
	}
}

// place returns where the checkpoint of a task is.
func (s *stage) place(v int) place {
	v = s.run.Maker(v)
	return place{v, s.run.tasks[v].gen, s.run.tasks[v].made}
}

// output returns the present output of a task; false: it cannot be had.
func (s *stage) output(v int) (hash uint64, ok bool) {
	v = s.run.Maker(v)
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
	v, t := j.d.Task, s.run.x.Tasks[j.d.Task]
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
			if !slices.Equal(e.inputs, j.inputs) && !s.waived {
				s.fail("(5) the undo of %d gets %x, and the task had %x", v, j.inputs, e.inputs)
			}
			return true
		})
		s.met["undo"]++
		for _, w := range s.run.x.line() {
			if s.run.x.Tasks[w].Irreversible() && len(s.journal[w]) > 0 && s.isBelow(v, w) && !s.waived {
				s.fail("(6) %d is undone above %d, which has begun", v, w)
			}
		}
	case j.d.Kind == MakeUp:
		for _, e := range s.journal[v] {
			if (!slices.Equal(e.inputs, j.inputs) || j.output != e.answer) && !s.waived {
				s.fail("(5) the compensation of %d gets %x and %x, and the task had %x and %x", v, j.inputs, j.output, e.inputs, e.answer)
			}
		}
		s.journal[v] = nil
		s.met["compensation"]++
	case t.Effect == Idempotent && (j.d.Kind == Do || j.d.Kind == Remake):
		if old, ok := s.answers[v]; ok { // the service remembers the key, also after a compensation
			if !slices.Equal(old.inputs, j.inputs) && !s.waived {
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
			s.madeOf[place{j.d.Task, t.gen, made}] = j.inputs
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
	parent, saved := &s.run.x.Tasks[o.Task], s.run.x.saves(o.Task)
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
			if parent.Deterministic {
				t.Deterministic, t.Caught = true, false
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
		if saved {
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

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// newStage returns the stage of a seed, before its first controller; nil: its graph is refused.
func newStage(t *testing.T, seed uint64, met map[string]int) *stage {
	r := rand.New(rand.NewPCG(seed, 13))
	g := randomGraph(r, 1+r.IntN(7))
	if _, err := Check(g); err != nil {
		return nil
	}
	s := &stage{t: t, seed: seed, r: r, g: g, memory: map[int]value{}, disk: map[place]uint64{}, journal: map[int][]effect{}, answers: map[int]effect{}, met: met,
		slept: map[int]time.Duration{}, madeOf: map[place][]uint64{}, taken: map[string]string{}}
	for v := range g.Tasks {
		g.Tasks[v].Name = fmt.Sprint(v)
		s.vary(r, &g.Tasks[v])
	}
	if r.IntN(2) == 0 {
		actors(r, g)
	}
	if _, err := Check(g); err != nil {
		return nil
	}
	s.loses = r.IntN(3) == 0
	return s
}

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

// A run ends as if nothing had failed, whatever fails.
func TestRunsEndAsIfNothingHadFailed(t *testing.T) {
	met := map[string]int{}
	for seed := *first; seed < *first+uint64(*stages); seed++ {
		s := newStage(t, seed, met)
		if s == nil {
			continue
		}
		s.takeOver()
		for range 40 * len(s.g.Tasks) {
			s.happen(true)
		}
		s.end()
	}
	t.Log(met)
}

// A controller may die after each record, before anybody hears that it is durable: the run ends as if it had not.
func TestTakeoverAtEveryPoint(t *testing.T) {
	points, met := 0, map[string]int{}
	for seed := *first; seed < *first+uint64(*stages)/20; seed++ {
		for dies := 1; ; dies++ {
			s := newStage(t, seed, met)
			if s == nil {
				break
			}
			s.dies = dies
			s.takeOver()
			for n := 0; n < 40*len(s.g.Tasks) && s.dies > 0; n++ {
				s.happen(true)
			}
			if s.dies > 0 { // it has fewer records
				break
			}
			points++
			s.end()
		}
	}
	if t.Log(points, "points", met); points < *stages/8 {
		t.Errorf("there were %d points only", points)
	}
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
		task := &s.run.x.Tasks[v]
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
		for i, p := range s.run.x.parents(v) { // an output is made of the outputs that there are
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

// The work for an event does not grow with the number of tasks: a run of a hundred thousand tasks
// takes as long for each as one of a thousand, also after outputs were lost that nobody needs.
func BenchmarkRun(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		for _, loses := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/loses=%v", n, loses), func(b *testing.B) { benchmarkRun(b, n, loses) })
		}
	}
}

// The same where every tenth task returns a graph of nine; and where each returns a task and one like itself, so that
// they are as deep as they are many.
func BenchmarkExpansions(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		for _, deep := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/deep=%v", n, deep), func(b *testing.B) { benchmarkExpansions(b, n, deep) })
		}
	}
}

func benchmarkExpansions(b *testing.B, n int, deep bool) {
	wide, inner := &Graph{Tasks: make([]Task, max(1, n/10))}, &Graph{Tasks: make([]Task, 9)}
	for v := range wide.Tasks {
		wide.Tasks[v] = Task{Effect: None, Expands: true}
	}
	for v := range inner.Tasks {
		inner.Tasks[v] = Task{Effect: None}
		if v > 0 {
			inner.Tasks[v].Reads = []int{v - 1}
		}
	}
	if deep {
		wide.Tasks = wide.Tasks[:1]
		inner.Tasks = []Task{{Effect: None}, {Effect: None, Expands: true, Reads: []int{0}}}
	}
	b.ReportAllocs()
	for b.Loop() {
		e, err := Check(wide)
		if err != nil {
			b.Fatal(err)
		}
		r := NewRun(RunConfig{Epoch: 1}, e, nil)
		for todo := r.Step(0, Tick{}); len(todo) > 0; todo = todo[1:] {
			switch d := todo[0].(type) {
			case Append:
				todo = append(todo, r.Step(0, Durable{d.Number})...)
			case Dispatch:
				o := Outcome{Task: d.Task, Attempt: d.Attempt, Output: Output{Recorded: true}}
				if r.x.Tasks[d.Task].Expands && len(r.x.Tasks)+len(inner.Tasks) <= n {
					o.Graph = inner
				}
				todo = append(todo, r.Step(0, o)...)
			}
		}
		if !r.Closed() {
			b.Fatal("the run is not closed")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/task")
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
