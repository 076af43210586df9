package soak

import (
	"fmt"
	"io/fs"
	"path/filepath"
)

// mostOnDisk bounds a folder, in bytes. Forgotten runs keep their ids for 20 minutes, and files are dropped some time after
// what is in them.
const mostOnDisk = 256 << 20

// mostOfLedger bounds what a node has of the ledger in memory, in bytes.
const mostOfLedger = 16 << 20

// rest checks everything, after faults have stopped and all clients have ended.
func (w *workflows) rest() {
	for _, d := range w.checks {
		if err := w.world.Check(d.uid, d.sums); err != nil {
			w.fail(fmt.Errorf("the effects of %s: %w", d.id, err))
			return
		}
	}
	if err := w.store.Look().Check(w.told); err != nil {
		w.fail(fmt.Errorf("the books of %d trips: %w", len(w.told), err))
		return
	}
	why := ""
	level := w.eventually(levelPatience, func() bool {
		why = w.remains(false)
		if why == "" {
			why = w.remains(true)
		}
		return why == ""
	})
	if !level && w.ctx.Err() == nil {
		w.fail(fmt.Errorf("%v after all runs were forgotten %s", levelPatience, why))
		return
	}
	for _, d := range w.checks {
		if err := w.world.Forget(d.uid); err != nil {
			w.fail(err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.res.Checked += len(w.checks) + len(w.told)
}

// remains names what is left of runs, or what has grown, or "". With rest it asks for heaps.
func (w *workflows) remains(rest bool) string {
	now := map[string]Figures{}
	if l, ok := w.hosts[0].running().ask(order{Do: "list", Object: "wf/", Deadline: callDeadline}, answerPatience); !ok || l.Kind != 0 || len(l.In) > 0 {
		return fmt.Sprintf("%d objects are in the directory: %v, of %v %s", len(l.In), l.In[:min(len(l.In), 10)], l.Of[:min(len(l.Of), 10)], l.Err)
	}
	for _, h := range w.hosts {
		p := h.running()
		l, ok := p.ask(order{Do: "runs", Deadline: callDeadline, Run: &program{}}, answerPatience)
		if !ok || l.Kind != 0 || l.Run == nil || len(l.Run.Runs) > 0 {
			return fmt.Sprintf("%s lists %v %s", p.name, l.Run, l.Err)
		}
		s, err := p.state(rest)
		if err != nil {
			return err.Error()
		}
		f := s.Figures
		if f.Objects+f.Fetching > 0 || f.Memory != 0 || f.Lasting != 0 {
			return fmt.Sprintf("%s has %d copies, %d fetches, %d bytes, %d of them pinned or reserved", p.name, f.Objects, f.Fetching, f.Memory, f.Lasting)
		}
		if f.Services > mostOfLedger {
			return fmt.Sprintf("%s has %d bytes of the ledger in memory", p.name, f.Services)
		}
		if f.Disk = sizeOf(h.node.Dir); f.Disk > mostOnDisk {
			return fmt.Sprintf("%s has %d bytes on its disk", p.name, f.Disk)
		}
		if now[p.name] = f; !rest {
			continue
		}
		if why := w.grown(p, f); why != "" {
			return p.name + " has " + why
		}
	}
	if rest {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.res.Start == nil {
			w.res.Start = now
		}
		w.res.End = now
	}
	return ""
}

// grown names the resource of which a process has too much more than at the driver's first look, or "". A new process may have as
// much as others had.
func (w *workflows) grown(p *process, now Figures) string {
	if _, ok := w.first[p]; !ok {
		most := now
		for _, f := range w.first {
			most.Goroutines, most.Descriptors, most.Heap = max(most.Goroutines, f.Goroutines), max(most.Descriptors, f.Descriptors), max(most.Heap, f.Heap)
		}
		w.first[p] = most
	}
	return grown(now, w.first[p])
}

// sizeOf returns how many bytes the files of a folder have; 0 without a folder.
func sizeOf(dir string) (sum int64) {
	if dir == "" {
		return 0
	}
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error { // files come and go
		if err == nil && !d.IsDir() {
			if i, err := d.Info(); err == nil {
				sum += i.Size()
			}
		}
		return nil
	})
	return sum
}
