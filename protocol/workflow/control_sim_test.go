package workflow

import (
	"flag"
	"maps"
	"slices"
	"testing"
	"time"
)

var (
	worlds   = flag.Int("workflow.worlds", 1000, "how many random clusters run workflows")
	oneWorld = flag.Int("workflow.world", -1, "the seed of the only one, of which all events and effects are logged; -1: all run")
)

// Runs on a cluster end as if nothing had failed, whatever fails, and leave nothing behind.
func TestClustersRunWorkflows(t *testing.T) {
	met := map[string]int{}
	for seed := range uint64(*worlds) {
		if *oneWorld >= 0 && seed != uint64(*oneWorld) {
			continue
		}
		w := newWorld(t, seed, met)
		for range 300 + w.r.IntN(1200) {
			w.happen()
		}
		w.settle()
		w.check()
	}
	t.Log(met)
}

// happen makes something random happen.
func (w *world) happen() {
	w.now += time.Duration(w.r.IntN(12)) * time.Millisecond
	if !w.calm && w.r.IntN(300) == 0 {
		w.now += time.Duration(w.r.IntN(4)) * time.Second
	}
	w.tick()
	t := w.tenures[w.r.IntN(len(w.tenures))]
	switch k := w.r.IntN(40); {
	case k < 14:
		w.deliver()
	case k < 18:
		w.write(t)
	case k < 22 && len(t.later) > 0:
		ev := t.later[0]
		t.later = t.later[1:]
		w.control(t, ev)
	case k < 28:
		w.attempt()
	case k < 30:
		w.saveBlob()
	case k < 32:
		w.ask()
	case k < 33 && t.view < len(w.views)-1:
		t.view++
		w.control(t, w.views[t.view])
	case k < 34 && len(w.gone) > 0:
		b := w.gone[0]
		w.gone = w.gone[1:]
		w.control(w.present(), OutputGone{b})
	case k < 35:
		w.see()
	case k >= 36 && !w.calm && w.r.IntN(1+3*int(w.seed%6)) == 0: // in some worlds less fails, so that runs get on
		w.harm()
	}
}

// write has a Write become durable, or its tenure hear of it.
func (w *world) write(t *tenure) {
	switch {
	case len(t.told) > 0 && w.r.IntN(2) == 0:
		n := t.told[0]
		t.told = t.told[1:]
		w.control(t, Durable{n})
	case t != w.present():
		if len(t.queue) > 0 || w.r.IntN(4) == 0 {
			w.met["tenure refused"]++
			w.control(t, Refused{})
			w.tenures = slices.DeleteFunc(w.tenures, func(o *tenure) bool { return o == t })
		}
	case len(t.queue) > 0:
		w.apply(t.queue[0])
		t.told = append(t.told, t.queue[0].Number)
		t.queue = t.queue[1:]
	}
}

func (w *world) attempt() {
	for _, n := range w.sorted() {
		if len(n.jobs) > 0 && n.hangs <= w.now && w.r.IntN(2) == 0 {
			ids := slices.SortedFunc(maps.Keys(n.jobs), AttemptID.compare)
			w.finish(n, ids[w.r.IntN(len(ids))])
			return
		}
	}
}

func (w *world) saveBlob() {
	for _, n := range w.sorted() {
		if len(n.saves) == 0 || n.hangs > w.now || w.r.IntN(2) == 0 {
			continue
		}
		s := n.saves[0]
		n.saves = n.saves[1:]
		ev := BlobSaved{Blob: s.Blob}
		hash, wait := uint64(0), false
		has := false
		for _, m := range w.sorted() {
			if h, is := m.store[s.Blob]; is && m.inView && m.dead {
				wait = true
			} else if is && m.inView {
				hash, has = h, true
			}
		}
		switch {
		case !has && wait:
			n.saves = append(n.saves, s)
			return
		case !has:
			ev.Failed, ev.Missing = "it is gone", true
			w.met["checkpoint of what is gone"]++
		case !w.calm && w.r.IntN(5) == 0:
			ev.Failed = "the disk is slow"
		default:
			w.disks[n.disk][s.Blob] = hash
		}
		w.executor(n, ev)
		return
	}
}

// see has the members that live see to what the view does not know yet.
func (w *world) see() {
	for _, n := range w.sorted() {
		if n.dead && n.inView {
			w.remove(n)
			return
		}
	}
}

// harm makes something fail.
func (w *world) harm() {
	nodes := w.sorted()
	n := nodes[w.r.IntN(len(nodes))]
	switch k := w.r.IntN(100); {
	case k < 10 && len(w.members()) > 1 || k < 4:
		w.kill(n)
		w.join(n.disk)
	case k < 14 && n.inView && !n.dead:
		w.remove(n)
		w.join(n.disk)
	case k < 25:
		for _, b := range slices.SortedFunc(maps.Keys(n.store), Blob.compare) {
			if w.r.IntN(3) == 0 {
				delete(n.store, b)
				w.executor(n, Dropped{b})
				w.met["object lost"]++
			}
		}
		w.lookForCopies()
	case k < 35:
		w.newTenure()
	case k < 45 && n.inView && !n.dead:
		w.met["node hangs"]++
		n.hangs = w.now + time.Duration(w.r.IntN(4000))*time.Millisecond
		if w.r.IntN(2) == 0 {
			w.newTenure()
		}
	case k == 45:
		w.met["all die"]++
		var disks []string
		for _, n := range nodes {
			if n.inView {
				disks = append(disks, n.disk)
			}
			w.kill(n)
			delete(w.nodes, n.id)
		}
		w.boot++
		for _, d := range slices.Compact(slices.Sorted(slices.Values(disks))) {
			w.join(d)
		}
		w.tenures = w.tenures[len(w.tenures)-1:]
		w.newTenure()
		w.tenures = w.tenures[len(w.tenures)-1:]
	}
}

func (w *world) members() (all []*machine) {
	for _, n := range w.sorted() {
		if n.inView && !n.dead {
			all = append(all, n)
		}
	}
	return all
}

// tick has controllers and executors hear of the time, some late.
func (w *world) tick() {
	for _, t := range slices.Clone(w.tenures) {
		if at, ok := t.c.Due(); ok && at <= w.now && (w.calm || w.r.IntN(4) > 0) {
			w.control(t, Tick{})
		}
	}
	for _, n := range w.sorted() {
		if at, ok := n.x.Due(); ok && at <= w.now && n.hangs <= w.now && (w.calm || w.r.IntN(4) > 0) {
			w.executor(n, Tick{})
		}
	}
}
