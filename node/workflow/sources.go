package workflow

import (
	"maps"
	"slices"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// Sources says in which inputs of an attempt objects are named: to have one put again of which only checkpoints are left, and to say
// which outputs are not whole if there is none.
type Sources struct {
	run core.UID
	in  []core.Located // inputs that name objects, in the order in which they were added
	all map[phalanx.ObjectID]source

	tasks map[int]bool // of in
}

// source is an object that inputs name.
type source struct {
	ref Ref
	in  []int32 // which of Sources.in
}

// NewSources returns the Sources of an attempt of a run, before it has read an input.
func NewSources(run core.UID) *Sources {
	return &Sources{run: run, all: map[phalanx.ObjectID]source{}, tasks: map[int]bool{}}
}

// Add notes which objects an input names. An input that was added before is the same.
func (s *Sources) Add(in core.Located, refs []Ref) {
	if s.tasks[in.Task] {
		return
	}
	s.tasks[in.Task] = true
	in.Output.Bytes = nil
	n := int32(len(s.in))
	s.in = append(s.in, in)
	for _, r := range refs {
		of := s.all[r.Object]
		if of.ref = r; !slices.Contains(of.in[max(0, len(of.in)-1):], n) {
			of.in = append(of.in, n)
		}
		s.all[r.Object] = of
	}
}

// Given notes which objects a constant names. Outputs of the run that the attempt does not know may have checkpoints of them.
func (s *Sources) Given(refs []Ref) {
	for _, r := range refs {
		s.all[r.Object] = source{ref: r, in: s.all[r.Object].in}
	}
}

// Naming says which inputs name an object.
type Naming struct {
	Wish  Wish        // that has the object put again, without a number: all checkpoints of the object have one place
	In    []core.Blob // the inputs
	Saved []core.Blob // those with a checkpoint: they have none any more if the Wish ends with Gone
}

// Naming returns which inputs name an object, in the order in which they were added; false: neither an input nor a constant does. The Wish
// for an object that only a constant names has no Disks.
func (s *Sources) Naming(id phalanx.ObjectID) (n Naming, named bool) {
	of, named := s.all[id]
	if !named {
		return n, false
	}
	n.Wish = Wish{Place: PlaceOfRef(s.run.String(), of.ref), Object: id, Meta: of.ref.Meta, Size: of.ref.Meta.Size, Digest: of.ref.Digest}
	disks := map[string]bool{}
	for _, i := range of.in {
		b := BlobOf(s.run, s.in[i])
		n.In = append(n.In, b)
		if len(s.in[i].Disks) > 0 {
			n.Saved = append(n.Saved, b)
		}
		for _, d := range s.in[i].Disks {
			disks[d] = true
		}
	}
	n.Wish.Disks = slices.Sorted(maps.Keys(disks))
	return n, true
}

// Partly returns the tasks of the inputs of which an attempt has not read all that they name: its node may not have copies of all.
func (s *Sources) Partly(read func(phalanx.ObjectID) bool) (tasks []int) {
	not := make([]bool, len(s.in))
	for id, of := range s.all {
		if !read(id) {
			for _, i := range of.in {
				not[i] = true
			}
		}
	}
	for i, l := range s.in {
		if not[i] {
			tasks = append(tasks, l.Task)
		}
	}
	return tasks
}

// WishOf returns what has the object of an output put again, without a number.
func WishOf(run core.UID, l core.Located) Wish {
	return Wish{Place: PlaceOf(BlobOf(run, l)), Object: InputID(run, l), Size: l.Output.Size, Digest: l.Output.Digest, Disks: l.Disks}
}

// Writing is an object that a disk writes for a checkpoint.
type Writing struct {
	Place  string
	Object phalanx.ObjectID
	Size   int64
	Digest phalanx.Digest
}

// Writings returns what a disk has to write of an output that names objects, in that order: the output comes last, so that a disk has
// it whole. What the disk has of the run already is not written again.
func (b *Belongings) Writings(e core.SaveBlob, refs []Ref) (all []Writing) {
	places := map[string]bool{}
	for _, r := range refs {
		place := PlaceOfRef(e.Blob.Run.String(), r)
		if len(b.Has([]string{place})) > 0 {
			b.Blob(place, e.Result)
			continue
		}
		if !places[place] {
			all = append(all, Writing{place, r.Object, r.Meta.Size, r.Digest})
		}
		places[place] = true
	}
	return append(all, Writing{PlaceOf(e.Blob), OutputID(e.Blob, e.Deterministic), e.Output.Size, e.Output.Digest})
}
