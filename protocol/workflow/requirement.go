package workflow

// node is an event of a task, or something that follows from events: begin, end and saved happen
// once, the others hold as soon as what they require does.
type node int32

// The kinds of nodes. A node of kind k of task v is v*kinds + k.
const (
	begin    node = iota
	end           // the attempt that counts has ended
	saved         // the checkpoint is durable
	settled       // no recovery changes or drops the output any more
	fixed         // the nondeterministic ancestors are settled
	covered       // all sources among the ancestors are settled: an irreversible task may begin
	undoable      // the output can be had again without running a source: it may be the input of an undo
	kinds
)

func at(v int, kind node) node { return node(v)*kinds + kind }

func (n node) task() int  { return int(n / kinds) }
func (n node) kind() node { return n % kinds }

// requires calls f with each node that n requires (workflow specification 1.8 and 1.9). The edges
// are as many as the graph has, times a constant. consumers are the tasks that read or follow one.
func (s shape) requires(n node, consumers lists, f func(node)) {
	v := n.task()
	switch n.kind() {
	case begin:
		s.requiresToBegin(v, f)
	case end:
		f(at(v, begin))
	case saved:
		f(at(v, end))
	case settled:
		if s.saves(v) {
			f(at(v, saved))
			f(at(v, fixed))
			return
		}
		f(at(v, end))                       // it is not being made again while an attempt goes on that has read it
		for _, c := range consumers.of(v) { // it is spent: nobody needs it again
			f(at(int(c), settled))
		}
	case fixed:
		for _, p := range s.parents(v) {
			p := int(p)
			f(at(p, fixed))
			if s.Tasks[p].differs() {
				f(at(p, settled))
			}
		}
	case covered:
		for _, p := range s.parents(v) {
			p := int(p)
			f(at(p, covered))
			if s.source(p) {
				f(at(p, settled))
			}
		}
	case undoable:
		if s.saves(v) {
			f(at(v, saved))
			return
		}
		for _, p := range s.parents(v) {
			p := int(p)
			f(at(p, undoable))
		}
	}
}

func (s shape) requiresToBegin(v int, f func(node)) {
	for _, p := range s.parents(v) {
		p := int(p)
		f(s.counts(p)) // for a task with Needs some of these are enough
		if s.Tasks[v].Effect == Undo || s.Tasks[v].Compensates {
			f(at(p, undoable))
		}
	}
	if t := &s.Tasks[v]; len(t.Writes) > 0 {
		for _, p := range t.Writes {
			if s.saves(p) { // the snapshot comes before the version is moved away
				f(at(p, saved))
			}
		}
		for _, r := range s.first.of(v) {
			f(at(int(r), end))
		}
	}
	if s.final(v) {
		f(at(v, covered))
	}
}
