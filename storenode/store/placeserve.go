package store

import (
	"context"
	"errors"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/phalanx-go/phalanx"
	rnode "github.com/phalanx-go/phalanx/node/reduce"
	"github.com/phalanx-go/phalanx/protocol/reduce"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// The side of a place that its parent sees: outputs, and the requests for them.

// servedOutput is the output of a place as its parent can have it. It has a reference to the
// sink.
type servedOutput struct {
	gen    reduce.PlaceGen
	place  *actor.PID
	output *output // nil: the output waits for room
	sink   sink    // of output; zero: the place has given it up
}

func (s servedOutput) release() {
	if !s.sink.isZero() {
		s.sink.release()
	}
}

// expect has parents that ask for the output gen of a place wait until show.
func (h *Places) expect(key placeKey, gen reduce.PlaceGen) {
	h.replace(key, servedOutput{gen: gen})
}

// show lets the parent read the output of a place.
func (h *Places) show(key placeKey, pid *actor.PID, o *output) {
	o.sink.retain()
	h.replace(key, servedOutput{o.gen, pid, o, o.sink})
}

// gone has the place make its output again when the parent asks for it.
func (h *Places) gone(key placeKey, pid *actor.PID, o *output) {
	h.replace(key, servedOutput{o.gen, pid, o, sink{}})
}

func (h *Places) replace(key placeKey, s servedOutput) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.outputs[key].release()
	h.outputs[key] = s
	close(h.changed)
	h.changed = make(chan struct{})
}

func (h *Places) hide(key placeKey) { h.hideOutput(key, nil) }

// hideOutput is hide if o is the shown output, or nil.
func (h *Places) hideOutput(key placeKey, o *output) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if old, ok := h.outputs[key]; ok && (o == nil || old.output == o) {
		old.release()
		delete(h.outputs, key)
		close(h.changed)
		h.changed = make(chan struct{})
	}
}

// shown returns the output of a place with a reference to its sink, zero if there is none, and a
// channel that is closed when a place here shows or hides an output.
func (h *Places) shown(key placeKey) (out servedOutput, changed <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if out = h.outputs[key]; !out.sink.isZero() {
		out.sink.retain()
	}
	return out, h.changed
}

// sayWait is how often the node tells a waiting parent that its output will come.
const sayWait = 200 * time.Millisecond

// Serve streams an output to the parent that asks for it. The command that
// starts the place may still be on its way; the output may be waiting for room,
// or be made again.
func (h *Places) Serve(from phalanx.NodeID, req dataplane.Request, w *dataplane.Writer) {
	key := placeKey{Target: req.Object, Reduce: req.Generation, Place: req.Place}
	reader := rnode.Reader{Want: reduce.PlaceGen{Attempt: req.PlaceGeneration.Attempt, Seq: req.PlaceGeneration.Seq}, Since: h.env.Now()}
	log := h.env.Log.WithField("peer", from).WithField("reduce", req.Object)
	path := func() []phalanx.NodeID { return []phalanx.NodeID{h.env.Self} }
	var past *output // the last output that has given up the bytes
	in := attendance{hub: h, key: key, w: w}
	defer in.end()
	for {
		out, changed := h.shown(key)
		turn := reader.Turn(h.env.Now(), out.gen)
		coming := turn == rnode.Reads
		switch {
		case turn == rnode.Passed:
			out.release()
			_ = w.Reset(phalanx.Generation{Epoch: out.gen.Attempt, Seq: out.gen.Seq})
			return
		case turn == rnode.Absent:
			out.release()
			_ = w.Gone(phalanx.ErrNotFound, "the place has no such output")
			return
		case !in.begin(coming):
			out.release()
			_ = w.TurnAway()
			return
		case !coming || out.output == nil || out.output == past:
			out.release()
		default:
			err := dataplane.ErrDropped
			if !out.sink.isZero() {
				err = h.stream(out, req, path, w)
			}
			if errors.Is(err, dataplane.ErrDropped) {
				log.WithError(err).Debug("an output is made again")
				past = out.output
				h.env.send(out.place, missing{past})
				break
			}
			var bad *dataplane.BadPiece
			if errors.As(err, &bad) {
				h.env.send(out.place, outputBad{gen: out.gen, err: bad})
			}
			if err != nil {
				log.WithError(err).Debug("an edge was not finished")
			}
			return
		}
		say := time.NewTimer(sayWait)
		select {
		case <-changed:
		case <-say.C:
			if coming && w.Wait(path()) != nil {
				return
			}
		case <-w.Context().Done():
			return
		}
		say.Stop()
	}
}

// stream sends an output until the place drops it, and gives the reference up.
func (h *Places) stream(out servedOutput, req dataplane.Request, path func() []phalanx.NodeID, w *dataplane.Writer) error {
	defer out.release()
	ctx, cancel := context.WithCancel(w.Context())
	defer cancel()
	defer context.AfterFunc(out.output.ctx, cancel)()
	checked := req.Checked
	if out.output.asked.Swap(true) { // the first parent may have found a bad piece, and have ended by that
		checked = out.output.meta.Size
	}
	// The parent takes nothing while it has no room, or waits for another input.
	err := out.sink.send(ctx, w, req.Offset, dataplane.SendOptions{Checked: checked, WaitPath: path, Patient: true})
	if err == nil && !out.output.delivered.Swap(true) && out.output.turning != nil {
		close(out.output.turning.went)
	}
	return err
}
