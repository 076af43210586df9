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
	from    map[place][]int32     // and of which tasks
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
	from   []int32 // the tasks of inputs
	refs   []int   // tasks whose outputs it reads as well, which the one that has returned its graph has passed on
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
			if t := s.run.x.Tasks[rec.Task]; t.Sleep > 0 {
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
	if s.run.x.Tasks[d.Task].Actor && d.Kind == Remake {
		s.fail("%d makes its output again, which holds an actor", d.Task)
	}
	if s.run.x.Tasks[d.Task].Effect != None && d.Kind == Do && !s.recorded(d) {
		s.fail("(9) task %d begins before its record is durable", d.Task)
	}
	h := fnv.New64a()
	fmt.Fprint(h, s.run.x.Tasks[d.Task].Name) // it has what its graph was made of
	j.inputs = append(j.inputs, h.Sum64())
	j.from = s.run.x.inputs(d.Task)
	if t := s.run.x.Tasks[d.Task]; t.Needs > 0 {
		if n := len(j.from) - len(t.After); n < int(t.Needs) || d.Kind != Do {
			s.fail("%d has %d of the %d inputs that it needs, for an attempt of kind %d", d.Task, n, t.Needs, d.Kind)
		} else if n < len(t.Reads) {
			s.met["began with some inputs"]++
		}
	}
	for _, p := range j.from {
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
			t := s.run.x.Tasks[j.d.Task]
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
		if r.IntN(4) > 0 || t.waits() || t.Expands || t.Caught || t.Needs > 0 {
			continue
		}
		t.Actor, t.Snapshot, t.Deterministic = true, sink[p] || r.IntN(2) == 0, false
		if t.Effect == Idempotent { // its key would make another actor
			t.Effect = []Effect{None, Undo}[r.IntN(2)]
		}
		t.Compensates = t.Compensates && t.Snapshot && t.Effect == Undo
		for w := p + 1; w < len(g.Tasks); w++ {
			if c := &g.Tasks[w]; slices.Contains(c.Reads, p) && !c.Expands && !c.waits() && c.Needs == 0 && r.IntN(2) == 0 {
				c.Writes = append(c.Writes, p)
				break
			}
		}
	}
}

// withActors is actors, tried until Check accepts the graph and a task of it writes an actor. It gives up after a few tries.
func withActors(r *rand.Rand, g *Graph) {
	plain, found := g.Tasks, g.Tasks
	for range 10 {
		g.Tasks = slices.Clone(plain)
		actors(r, g)
		if _, err := Check(g); err != nil {
			continue
		}
		found = g.Tasks
		if slices.ContainsFunc(found, func(t Task) bool { return len(t.Writes) > 0 }) {
			return
		}
	}
	g.Tasks = found
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
		slept: map[int]time.Duration{}, madeOf: map[place][]uint64{}, from: map[place][]int32{}, taken: map[string]string{}}
	for v := range g.Tasks {
		g.Tasks[v].Name = fmt.Sprint(v)
		s.vary(r, &g.Tasks[v])
	}
	if seed%2 == 1 {
		needSome(r, g)
	}
	if r.IntN(2) == 0 {
		withActors(r, g)
	}
	if _, err := Check(g); err != nil {
		return nil
	}
	s.loses = r.IntN(3) == 0
	return s
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
