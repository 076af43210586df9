package workflow

import "time"

// hosted is a run in a controller's memory.
type hosted struct {
	uid     UID
	id      string
	key     string // of the caller that has started it
	work    *Work
	run     *Run
	logs    uint64         // its rows log/
	held    *held          // it does nothing yet: members tell what they have of it
	durable bool           // its start is
	attach  []func()       // then
	pending int            // units that are not durable
	queued  int            // steps that it has yet to take
	closing bool           // Closed is written
	parking bool           // it only waits, and that is written
	gone    bool           // it is not in memory any more
	why     string         // it is stuck
	hitches map[int]string // why the last attempts of tasks have failed; they have not ended since
	result  *Result        // closing

	status   *Status // as it was at statusAt
	statusAt time.Duration

	lines   []*line             // what waits for a slot
	limits  map[*limit]struct{} // for which something waits, or of which an attempt was called
	want    []bool              // by task: an attempt waits for a slot
	ready   int                 // of them
	flights map[int]*flight
	saves   int            // checkpoints that are written
	at      []*member      // by task: where the output was made; nil: nobody has one
	places  map[int]Places // of checkpoints, by task
	signals map[signalID][]*call
	users   []*member // that have something of it

	progress map[int]progress // by task
}

// progress is how far an attempt has come that has failed since, or may.
type progress struct {
	gen   uint32
	bytes []byte
}

// flight is an attempt that a member has, or gets.
type flight struct {
	run      *hosted
	id       AttemptID
	kind     Kind
	to       *member
	serial   uint64   // 0: of another epoch
	msg      *sending // Order or Recall
	slot     bool     // it takes one of the member's
	canceled bool
}

// held is a run of an earlier controller, or one that only waited. Its attempts do not say where they went, since
// they are placed after they are recorded. But each went to one node, which was recorded before: so a
// member that does not answer holds up only runs with an attempt, or an output, that no other has told.
type held struct {
	asks    int           // that the run waits for
	until   time.Duration // then it goes on without the answers that are missing, if nothing of it may be there
	found   map[int]*flight
	reports map[int]Report        // of found
	ending  map[AttemptID]*member // attempts that nobody recorded: they have to end first
	holders map[int][]*member     // of outputs, by task
	later   []step
}

// function returns what a task runs.
func (h *hosted) function(v int) Function {
	w, l := h.workOf(v)
	f := w.function(l)
	if n, is := h.run.Version(f.Name); is {
		f.Version = n
	}
	return f
}

// workOf returns the workflow that a task is of, the run's or one that a task has returned, and its number there.
func (h *hosted) workOf(v int) (w *Work, local int) {
	_, local, work := h.run.task(v)
	if w, is := work.(*Work); is {
		return w, local
	}
	return h.work, local
}

// uses notes that a member has something of the run.
func (h *hosted) uses(m *member) {
	for _, have := range h.users {
		if have == m {
			return
		}
	}
	h.users = append(h.users, m)
}

func (h *hosted) setAt(v int, m *member) {
	if more := len(h.run.tasks) - len(h.at); more > 0 {
		h.at = append(h.at, make([]*member, more)...)
	}
	h.at[v] = m
	h.uses(m)
}

// holder returns where the output of a task was made; nil: nobody has it.
func (h *hosted) holder(v int) *member {
	if v = h.run.Maker(v); v < len(h.at) {
		return h.at[v]
	}
	return nil
}

// locate says where an output is.
func (h *hosted) locate(v int) Located {
	l := h.run.located(v)
	if l.Output.Recorded && l.Output.Bytes == nil && l.Output.Size > 0 {
		l.Row = outKey(h.uid, l.Task, l.Made)
	}
	if p, is := h.places[l.Task]; is && p.Blob == h.blob(l) {
		l.Disks = p.Disks
	}
	return l
}

func (h *hosted) blob(l Located) Blob {
	return Blob{Run: h.uid, Task: l.Task, Gen: l.Gen, Made: l.Made}
}

// name returns the row of the run's id.
func (h *hosted) name() Name {
	n := Name{Run: h.uid, Digest: h.work.Digest, Key: h.key}
	n.State, n.Why = h.run.state()
	return n
}

// hasTask reports whether a number from outside is that of a task.
func (h *hosted) hasTask(v int) bool { return h.run.has(v) }

func (h *hosted) taskName(v int) string { return h.run.Name(v) }

func (h *hosted) put(v int, p Places) {
	if h.places == nil {
		h.places = map[int]Places{}
	}
	h.places[v] = p
}

// fly notes that a member has an attempt, or gets it.
func (h *hosted) fly(f *flight) {
	if h.flights == nil {
		h.flights = map[int]*flight{}
	}
	h.flights[f.id.Task] = f
	f.to.flights[f.id] = f
	h.uses(f.to)
}

// land takes that an attempt has ended.
func (h *hosted) land(f *flight) {
	delete(h.flights, f.id.Task)
	delete(f.to.flights, f.id)
}
