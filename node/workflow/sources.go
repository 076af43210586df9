package workflow

import (
	"slices"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// Sources says in which inputs of an attempt objects are named: to have one put again of which only checkpoints are left, and to say
// which outputs are not whole if there is none.
type Sources struct {
	run core.UID
	all map[phalanx.ObjectID]source
}

// source is an object that inputs name.
type source struct {
	ref Ref
	in  []core.Located
}

// NewSources returns the Sources of an attempt of a run, before it has read an input.
func NewSources(run core.UID) *Sources {
	return &Sources{run: run, all: map[phalanx.ObjectID]source{}}
}

// Add notes which objects an input names.
func (s *Sources) Add(in core.Located, refs []Ref) {
	in.Output.Bytes = nil
	for _, r := range refs {
		of := s.all[r.Object]
		same := func(l core.Located) bool { return l.Task == in.Task }
		if of.ref = r; !slices.ContainsFunc(of.in, same) {
			of.in = append(of.in, in)
		}
		s.all[r.Object] = of
	}
}

// Ref returns an object that an input names; false: none does.
func (s *Sources) Ref(id phalanx.ObjectID) (r Ref, named bool) {
	of, named := s.all[id]
	return of.ref, named
}

// Naming is an output that names an object.
type Naming struct {
	Blob core.Blob
	Wish Wish // that has the object put again, without a number; without Disks the output has no checkpoint
}

// Namings returns the inputs that name an object, in the order in which they were added.
func (s *Sources) Namings(id phalanx.ObjectID) (all []Naming) {
	of := s.all[id]
	for _, in := range of.in {
		all = append(all, Naming{BlobOf(s.run, in), Wish{Place: PlaceOfRef(s.run.String(), of.ref), Object: id, Meta: of.ref.Meta, Size: of.ref.Meta.Size, Digest: of.ref.Digest, Disks: in.Disks}})
	}
	return all
}

// Whole reports whether an attempt that has read some objects has read all that an input names: its node has copies of them
// then.
func (s *Sources) Whole(task int, read func(phalanx.ObjectID) bool) bool {
	for id, of := range s.all {
		if slices.ContainsFunc(of.in, func(l core.Located) bool { return l.Task == task }) && !read(id) {
			return false
		}
	}
	return true
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
