package workflows

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/messages"
	flow "github.com/phalanx-go/phalanx/node/workflow"
	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// finish makes what the output of the attempt names and holds, then the output, and ends it.
func (a *attempt) finish(ev core.AttemptEnded, answer uint64) {
	switch {
	case a.over():
	case ev.Failed != "":
		a.end(ev)
	case a.h.p.Refuses():
		a.h.Met("workflow: attempt on a node that leaves")
		a.end(core.AttemptEnded{Failed: "the node is leaving", Lost: true})
	case !a.makesOutput():
		a.end(a.made(ev, answer, nil))
	default:
		refs, err := a.putNamed(answer)
		if err != nil {
			a.end(core.AttemptEnded{Failed: err.Error()})
			return
		}
		a.write(a.sits, answer, a.orLack(func() {
			hold := func() {
				if a.over() {
					return
				}
				a.hold(answer, refs, func(refs []flow.Ref) {
					a.orLack(func() { a.end(a.made(ev, answer, refs)) })()
				})
			}
			if slices.ContainsFunc(a.sits, func(s *seat) bool { return s.writes }) { // what it has written may be lost meanwhile
				a.h.later(a.h.Upto(300*ms), hold)
				return
			}
			hold()
		}))
	}
}

// made makes the object of an output that has one, and says which inputs the node has now.
func (a *attempt) made(ev core.AttemptEnded, answer uint64, refs []flow.Ref) core.AttemptEnded {
	h, o := a.h, a.order
	job := o.Of.(*messages.Job)
	var b []byte
	switch {
	case a.makesOutput() && job.Call.Expands:
		ev.Output, ev.Work = core.Output{}, a.grow(answer, refs)
	case a.makesOutput():
		if job.Call.Actors {
			ev.Output, b = holding(answer, a.holds, refs)
			if h.Alone && !h.calm && h.R.IntN(4) == 0 {
				h.later(h.Upto(200*ms), func() {
					if p := h.Find(a.holds.Node); p != nil && h.Crash(p) {
						h.Met("fault: crash of a node that has an actor")
					}
				})
			}
		} else {
			ev.Output, b = outputOf(answer, refs)
		}
		if job.Result {
			ev.Output.Names = namesOf(o.ID.Run.String(), refs)
		}
		h.outside.values[ev.Output.Digest] = answer
	}
	if b != nil && (job.Object || !ev.Output.Recorded) {
		id := flow.OutputID(core.Blob{Run: o.ID.Run, Task: o.ID.Task, Gen: o.Gen, Made: o.Made}, job.Call.Deterministic)
		h.has.Object(o.ID.Run.String(), id, job.Result)
		if err := h.store.put(h, id, b); err != nil {
			return core.AttemptEnded{Failed: err.Error()}
		}
		h.Met("workflow: output is an object")
		if h.Alone && !h.calm && h.R.IntN(10) == 0 { // often nobody else has it, and its checkpoint is not written
			h.later(h.Upto(200*ms), func() {
				if h.Crash(h.p) {
					h.Met("fault: crash of a node that has made an object")
				}
			})
		}
	}
	partly := a.named.Partly(func(id phalanx.ObjectID) bool { return a.got[id] })
	for _, l := range slices.Concat(o.Inputs, own(o)) {
		if flow.InputID(o.ID.Run, l) != "" && !slices.Contains(partly, l.Task) {
			h.local(flow.Local{Event: core.Stored{Blob: flow.BlobOf(o.ID.Run, l)}})
		}
	}
	return ev
}

func own(o core.Order) (all []core.Located) {
	if o.Output != nil {
		all = append(all, *o.Output)
	}
	return all
}

// full reports whether the disk is nearly full.
func (h *host) full() bool {
	if h.keeper.disk == nil {
		return false
	}
	space, err := h.keeper.disk.Space()
	return err == nil && space.Fits(0) != nil
}

// findBlobs notes which checkpoints are on the disk already.
func (h *host) findBlobs() {
	if h.keeper.disk != nil {
		h.good(h.keeper.disk.List(func(place string, _ int64) bool {
			h.has.Found(place)
			if !slices.Contains(h.rotted[place], h.machine.disk) {
				h.safe(place, true) // the process may have ended before it knew
			}
			return true
		}))
		h.copy(flow.Held{Places: h.has.Places()})
	}
}

// save writes an output to the disk.
func (h *host) save(e core.SaveBlob) {
	done := func(failed string, gone bool) {
		h.local(flow.Local{Event: core.BlobSaved{Blob: e.Blob, Failed: failed, Missing: gone}})
	}
	h.has.Object(e.Blob.Run.String(), flow.OutputID(e.Blob, e.Deterministic), e.Result) // a read makes a copy
	h.refsOf(e, func(refs []flow.Ref, gone bool) {
		if gone {
			h.Met("workflow: checkpoint of an output that is gone")
			done("nobody has the object", true)
			return
		}
		h.write(e, h.has.Writings(e, refs), done)
	})
}

// write writes what a checkpoint has.
func (h *host) write(e core.SaveBlob, left []flow.Writing, then func(failed string, gone bool)) {
	if len(left) == 0 {
		then("", false)
		return
	}
	w := left[0]
	h.has.Object(e.Blob.Run.String(), w.Object, e.Result)
	h.copyTo(w.Place, w.Object, w.Size, w.Digest, e.Result, func(failed string, gone bool) {
		if failed != "" {
			then(failed, gone)
			return
		}
		h.write(e, left[1:], then)
	})
}

// copyTo writes an object to the disk.
func (h *host) copyTo(place string, id phalanx.ObjectID, size int64, digest phalanx.Digest, last bool, then func(failed string, gone bool)) {
	life := h.life
	h.get(id, func(b []byte, gone bool) {
		if gone {
			h.Met("workflow: checkpoint of an output that is gone")
			then("nobody has the object", true)
			return
		}
		h.later(h.Upto(30*ms), func() {
			if life != h.life {
				return
			}
			if err := h.keeper.disk.Put(place, bytes.NewReader(b), size, digest); err != nil {
				h.Met("workflow: checkpoint fails")
				then(err.Error(), false)
				return
			}
			h.Met("workflow: checkpoint written")
			h.safe(place, true)
			h.has.Blob(place, last)
			h.copy(flow.Held{Places: []string{place}})
			then("", false)
		})
	})
}

// copyAgain writes a checkpoint for a node that asks for it.
func (h *host) copyAgain(from phalanx.NodeID, m flow.Copy) {
	if h.keeper.disk == nil {
		return
	}
	h.copyTo(m.Place, m.Object, m.Size, m.Digest, true, func(failed string, _ bool) {
		h.Met("workflow: lost copy of a checkpoint written again")
		if m.Number != 0 {
			h.store.delete(m.Object)
			h.send(from, flow.Copied{Number: m.Number, Failed: failed})
		}
	})
}

// putAgain makes an object of a checkpoint on the disk again.
func (h *host) putAgain(from phalanx.NodeID, m flow.Restore) {
	answer := flow.Restored{Number: m.Number}
	if h.keeper.disk == nil {
		h.send(from, answer)
		return
	}
	answer.Disk = clusterOf(h.keeper.disk.Identity().Disk)
	life, place := h.life, m.Place
	h.later(h.Upto(30*ms), func() {
		if life != h.life {
			return
		}
		data, _, err := h.read(place)
		if err == nil {
			h.has.Object(flow.RunOf(place), m.Object, true)
			err = h.store.put(h, m.Object, data)
		}
		switch {
		case err == nil:
			h.Met("workflow: object of a checkpoint put again")
			answer.Done = true
		case errors.Is(err, durable.ErrCorrupt):
			answer.Failed, answer.Lost = err.Error(), true
			h.rotten(place)
		case errors.Is(err, durable.ErrNotFound):
			answer.Lost = true
		default:
			answer.Failed = err.Error()
		}
		h.send(from, answer)
	})
}

// wish has an object put again of which only checkpoints are left, until unwish.
func (h *host) wish(w flow.Wish, then func(flow.Granted)) (number uint64) {
	h.number++
	h.wishes[h.number] = then
	w.Number = h.number
	h.restore(w)
	return h.number
}

// unwish says that nobody waits for it any more.
func (h *host) unwish(number uint64) {
	if h.wishes[number] != nil {
		delete(h.wishes, number)
		h.restore(flow.Unwished{Number: number})
	}
}

// restore gives the wishes for objects an event, and carries out its effects.
func (h *host) restore(ev flow.RestorerEvent) {
	for _, e := range h.restorer.Step(h.p.Now(), ev) {
		switch e := e.(type) {
		case flow.AskFor:
			h.send(e.To, e.Restore)
		case flow.SendCopy:
			h.send(e.To, e.Copy)
		case flow.Granted:
			then := h.wishes[e.Number]
			delete(h.wishes, e.Number)
			h.Met(map[bool]string{true: "workflow: checkpoint is gone", false: "workflow: wish granted"}[e.Gone])
			h.post(func() { then(e) })
		}
	}
}

// free deletes what the node has of runs that have ended, but for what they end with.
func (h *host) free(runs []core.Released) {
	objects, places := h.has.Free(runs)
	h.actorsHere(flow.ActorsFreed{Runs: runs})
	for _, place := range places {
		h.good(h.keeper.disk.Delete(place))
		h.safe(place, false)
	}
	h.copy(flow.NotHeld{Places: places})
	h.soon(func() {
		for _, id := range objects {
			h.store.delete(id)
		}
	})
}

// safe notes whether the disk has a good checkpoint.
func (h *host) safe(place string, is bool) {
	disk := h.machine.disk
	if on, is := h.rotted[place]; is {
		h.rotted[place] = without(on, disk)
	}
	h.blobs[place] = without(h.blobs[place], disk)
	if is {
		h.blobs[place] = append(h.blobs[place], disk)
	}
}

func without(all []uint64, disk uint64) []uint64 {
	return slices.DeleteFunc(all, func(d uint64) bool { return d == disk })
}

// lose takes that a disk is gone.
func (s *service) lose(disk uint64) {
	for _, of := range []map[string][]uint64{s.blobs, s.rotted} {
		for place, on := range of {
			of[place] = without(on, disk)
		}
	}
}

// spare reports whether each checkpoint on a disk is on another one as well.
func (s *service) spare(disk uint64) bool {
	for _, on := range s.blobs {
		if len(on) == 1 && on[0] == disk {
			return false
		}
	}
	return true
}

// single names a checkpoint of a result that one disk has although there are others, or returns "".
func (s *service) single() string {
	disks := 0
	for _, p := range s.Live() {
		if h := s.hosts[p]; h.copier != nil && h.has != nil {
			disks++
		}
	}
	for _, r := range s.work.runs {
		if r.forgets || r.result == nil || disks < 2 || s.retired { // it takes longer than the run until a disk that is away counts as lost
			continue
		}
		for _, o := range r.result.Outputs {
			place := flow.PlaceOf(flow.BlobOf(r.uid, o))
			on := len(s.blobs[place])
			if _, rotted := s.rotted[place]; len(o.Disks) > 0 && on < 2 && !rotted { // nobody looks for rot: the good copy may have left
				return fmt.Sprintf("%d disks have the checkpoint %s, and there are %d", on, place, disks)
			}
		}
	}
	return ""
}
