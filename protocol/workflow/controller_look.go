package workflow

import (
	"strings"

	"github.com/phalanx-go/phalanx"
)

// This file has what people look at: which tasks of a run are at work, and what is recorded of it.

// AtWork is a task at which a run works: an attempt of it goes on, waits for a slot, or has failed and comes again.
type AtWork struct {
	Task   int
	Kind   Kind           // of the attempt that goes on
	Node   phalanx.NodeID // which has the attempt; "": none has it
	Ready  bool           // it waits for a slot
	Stuck  bool           // it waits for a Resume
	Failed int            // attempts that have failed in a row
	Why    string         // the last of these has failed, or the run is stuck
}

// Page is rows of a run as they are recorded. A controller says which rows, and its host reads them.
type Page struct {
	Key, End string
	Limit    int
	Rows     []Recorded
	Next     uint64 // the number of the row behind these; 0: there is none
}

// Recorded is a row of a run: a Part of its workflow, or a Batch.
type Recorded struct {
	Number uint64 // in the order of the rows
	Bytes  []byte
}

// mostPage is how many rows a page has.
const mostPage = 64

// mostHitch bounds in bytes why a task has failed: a controller keeps that of each task that has not ended.
const mostHitch = 256

// hitch notes why a task has failed, until it ends.
func (h *hosted) hitch(v int, why string) {
	if h.hitches == nil {
		h.hitches = map[int]string{}
	}
	h.hitches[v] = strings.ToValidUTF8(why[:min(len(why), mostHitch)], "")
}

// lost names the tasks whose outputs are lost for good, and needed.
func (h *hosted) lost() (all []string) {
	for _, v := range h.run.Lacks() {
		if len(all) < mostNamed {
			all = append(all, cut(h.taskName(v)))
		}
	}
	return all
}

// atWork returns the tasks at which a run works, by their numbers; at most mostListed.
func (h *hosted) atWork() []AtWork {
	var all []AtWork
	if h.held != nil { // what members have of it is not known yet
		return nil
	}
	for v := range h.run.tasks {
		if !h.run.has(v) {
			continue
		}
		w := AtWork{Task: v, Failed: h.run.tasks[v].retries + h.run.tasks[v].losses, Ready: h.wants(v), Stuck: h.run.tasks[v].stuck}
		if f := h.flights[v]; f != nil {
			w.Kind, w.Node = f.kind, f.to.node
		}
		if w.Failed > 0 || w.Stuck {
			w.Why = h.hitches[v]
		}
		if w != (AtWork{Task: v}) && len(all) < mostListed {
			all = append(all, w)
		}
	}
	return all
}

// readRun answers which rows of a run are asked for.
func (c *Controller) readRun(k *call, w ReadRun, h *hosted, n *Name) {
	u := UID{}
	switch {
	case h != nil:
		u = h.uid
	case n != nil && n.State != Forgotten:
		u = n.Run
	default:
		c.fail(k, failure(phalanx.ErrNotFound, "there is no run %q", w.ID))
		return
	}
	p := Page{Key: partKey(u, int(min(w.From, MaxTasks))), End: runKey(u, "part0"), Limit: mostPage}
	if w.Log {
		p.Key, p.End = logKey(u, w.From), runKey(u, "log0")
	}
	c.answer(k, Answer{Run: u, Page: &p})
}
