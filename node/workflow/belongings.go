package workflow

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/phalanx-go/phalanx"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// OutputName is the name of the object that has an output. No Put of a task has it.
const OutputName = ".output"

// Prefix returns how the ids of a task's objects begin, but for those that a deterministic task puts under a name (workflow
// specification 2.3). path is that of the task in the run. The ids of a deterministic task are the same in each attempt of an epoch, so that
// bytes that are made again go on under their id. The next controller may not know of an attempt that has had other inputs.
func Prefix(run, path string, gen uint32, made core.Attempt, deterministic bool) string {
	if deterministic {
		return fmt.Sprintf("wf/%s/%s/%d/%d/", run, path, gen, made.Epoch)
	}
	return fmt.Sprintf("wf/%s/%s/%d/%d.%d/", run, path, gen, made.Epoch, made.Number)
}

// NamedID returns the id of an object that a task puts under a name. That of a deterministic task has its digest instead of the
// generation: if the task is made again, outputs of others that name the object go on as they are.
func NamedID(run, path string, gen uint32, made core.Attempt, deterministic bool, digest phalanx.Digest, name string) phalanx.ObjectID {
	if deterministic {
		return phalanx.ObjectID(fmt.Sprintf("wf/%s/%s/%s/%s", run, path, digest, name))
	}
	return phalanx.ObjectID(Prefix(run, path, gen, made, false) + name)
}

// OutputID returns the id of the object that has an output.
func OutputID(b core.Blob, deterministic bool) phalanx.ObjectID {
	return phalanx.ObjectID(Prefix(b.Run.String(), fmt.Sprint(b.Task), b.Gen, b.Made, deterministic) + OutputName)
}

// PlaceOf returns the place of a checkpoint among the blobs of a disk.
func PlaceOf(b core.Blob) string { return string(OutputID(b, false)) }

// PlaceOfRef returns the place of a checkpoint of an object that outputs of a run name. Objects with the same bytes have one.
func PlaceOfRef(run string, r Ref) string { return "wf/" + run + "/ref/" + r.Digest.String() }

// BlobAt returns the output whose checkpoint has a place; false: it is that of an object that outputs name.
func BlobAt(place string) (b core.Blob, is bool) {
	parts := strings.Split(place, "/")
	if len(parts) != 6 {
		return b, false
	}
	epoch, number, _ := strings.Cut(parts[4], ".")
	var n [4]uint64
	for i, text := range []string{parts[2], parts[3], epoch, number} {
		var err error
		if n[i], err = strconv.ParseUint(text, 10, 64); err != nil {
			return b, false
		}
	}
	b.Run, is = core.ParseUID(parts[1])
	b.Task, b.Gen, b.Made = int(n[0]), uint32(n[1]), core.Attempt{Epoch: n[2], Number: n[3]}
	return b, is && PlaceOf(b) == place
}

// BlobOf returns what is to be had of an output that an attempt is given.
func BlobOf(run core.UID, l core.Located) core.Blob {
	return core.Blob{Run: run, Task: l.Task, Gen: l.Gen, Made: l.Made}
}

// InputID returns the id of the object that has an output; "": its bytes, or its error, are there.
func InputID(run core.UID, l core.Located) phalanx.ObjectID {
	if l.Output.Error != "" || int64(len(l.Output.Bytes)) == l.Output.Size {
		return ""
	}
	return OutputID(BlobOf(run, l), l.Deterministic)
}

// Belongings are what a node has of runs, so that it can drop all of a run that is over: objects of which it knows, and
// checkpoints on its disk.
type Belongings struct {
	objects map[string]map[phalanx.ObjectID]bool // by run; true: the run ends with it
	blobs   map[string]map[string]bool           // by run: places
}

// NewBelongings returns those of a node that has nothing.
func NewBelongings() *Belongings {
	return &Belongings{objects: map[string]map[phalanx.ObjectID]bool{}, blobs: map[string]map[string]bool{}}
}

// Object notes an object of a run. last says that the run ends with it. What a caller has passed to the run is not the run's to
// delete.
func (b *Belongings) Object(run string, id phalanx.ObjectID, last bool) {
	if RunOf(string(id)) != run {
		return
	}
	if b.objects[run] == nil {
		b.objects[run] = map[phalanx.ObjectID]bool{}
	}
	b.objects[run][id] = b.objects[run][id] || last
}

// NoObject forgets an object that was deleted.
func (b *Belongings) NoObject(id phalanx.ObjectID) {
	run := RunOf(string(id))
	if delete(b.objects[run], id); len(b.objects[run]) == 0 {
		delete(b.objects, run)
	}
}

// Blob notes a checkpoint on the disk. One of several outputs is the last if it is that of one of them.
func (b *Belongings) Blob(place string, last bool) {
	run := RunOf(place)
	if b.blobs[run] == nil {
		b.blobs[run] = map[string]bool{}
	}
	b.blobs[run][place] = b.blobs[run][place] || last
}

// Found notes a checkpoint that was on the disk before. Whether the run ends with it is not known any more: it stays until the
// run is forgotten. A checkpoint of which more is known stays as it is.
func (b *Belongings) Found(place string) {
	if _, known := b.blobs[RunOf(place)][place]; !known {
		b.Blob(place, true)
	}
}

// NoBlob forgets a checkpoint that is not on the disk any more.
func (b *Belongings) NoBlob(place string) {
	run := RunOf(place)
	if delete(b.blobs[run], place); len(b.blobs[run]) == 0 {
		delete(b.blobs, run)
	}
}

// Places returns all checkpoints on the disk, in order.
func (b *Belongings) Places() (all []string) {
	for _, of := range b.blobs {
		all = slices.AppendSeq(all, maps.Keys(of))
	}
	slices.Sort(all)
	return all
}

// Has returns those of these checkpoints that are on the disk.
func (b *Belongings) Has(places []string) (have []string) {
	for _, p := range places {
		if _, is := b.blobs[RunOf(p)][p]; is {
			have = append(have, p)
		}
	}
	return have
}

// Free forgets what the node has of runs that have ended, but for what they end with, and returns it, to be deleted.
func (b *Belongings) Free(runs []core.Released) (objects []phalanx.ObjectID, places []string) {
	for _, r := range runs {
		objects = append(objects, drop(b.objects, r)...)
		places = append(places, drop(b.blobs, r)...)
	}
	return objects, places
}

// Runs returns of which runs the node has something.
func (b *Belongings) Runs() (all []core.UID) {
	runs := map[string]bool{}
	for run := range b.objects {
		runs[run] = true
	}
	for run := range b.blobs {
		runs[run] = true
	}
	for _, run := range slices.Sorted(maps.Keys(runs)) {
		if u, ok := core.ParseUID(run); ok {
			all = append(all, u)
		}
	}
	return all
}

// Of reports whether the node has something of a run.
func (b *Belongings) Of(u core.UID) bool {
	run := u.String()
	return len(b.objects[run]) > 0 || len(b.blobs[run]) > 0
}

// drop takes what is known of a run out of all, but for what the run ends with and names unless that goes as well.
func drop[K ~string](all map[string]map[K]bool, r core.Released) (gone []K) {
	of := all[r.Run.String()]
	for _, k := range slices.Sorted(maps.Keys(of)) {
		last := of[k] || slices.ContainsFunc(r.Spares, func(s string) bool { return strings.HasPrefix(string(k), s) })
		if !last || r.Results {
			gone = append(gone, k)
			delete(of, k)
		} else {
			of[k] = true
		}
	}
	if len(of) == 0 {
		delete(all, r.Run.String())
	}
	return gone
}

// RunOf returns the run of a place.
func RunOf(place string) (uid string) {
	rest, ok := strings.CutPrefix(place, "wf/")
	if !ok {
		return ""
	}
	uid, _, _ = strings.Cut(rest, "/")
	return uid
}
