package workflow

import (
	"slices"
	"time"
)

// save is a checkpoint that two disks write, or one if there is no other.
type save struct {
	run   *hosted
	blob  Blob
	asked map[*member]*sending
	left  int      // that have yet to answer
	disks []string // that have it
	over  bool
}

// save has an output saved.
func (c *Controller) save(h *hosted, e Save) {
	b := Blob{Run: h.uid, Task: e.Task, Gen: e.Gen, Made: e.Made}
	h.saves++
	c.saveQueue = append(c.saveQueue, &save{run: h, blob: b})
	c.saveMore()
}

// saveMore begins as many checkpoints as may be written at once. Without any disk they wait.
func (c *Controller) saveMore() {
	for len(c.saveQueue) > 0 && len(c.saves) < mostSaves {
		s := c.saveQueue[0]
		if s.run.gone || c.saves[s.blob] != nil || !s.run.run.holds(s.blob) { // the task was dropped since
			c.saveQueue = c.saveQueue[1:]
			s.run.saves--
			continue
		}
		to := c.disksFor(s.blob)
		if len(to) == 0 {
			return
		}
		c.saveQueue = c.saveQueue[1:]
		c.saves[s.blob] = s
		s.asked = map[*member]*sending{}
		s.left = len(to)
		c.saveEnds.Set(s, c.now+saveWait+s.run.run.located(s.blob.Task).Output.writing())
		for _, m := range to {
			m.saves[s.blob] = s
			s.run.uses(m)
			s.asked[m] = c.sendUntil(m, WriteBlob{Epoch: c.cfg.Epoch, Blob: s.blob,
				Output: withoutBytes(s.run.run.located(s.blob.Task).Output), Result: s.run.run.isResult(s.blob.Task),
				Deterministic: s.run.run.x.Tasks[s.blob.Task].Deterministic})
		}
	}
}

// writing returns how long a slow disk takes to write an output.
func (o Output) writing() time.Duration {
	seconds := o.Size/slowestDisk + o.Weight/slowestDisk
	return min(time.Duration(min(seconds, mostSaving))*time.Second+time.Duration(o.Refs)*slowestFile, mostSaving*time.Second)
}

func withoutBytes(o Output) Output {
	o.Bytes, o.Names = nil, nil
	return o
}

// disksFor returns two members with disks, or as many as there are: each output has others (rendezvous).
func (c *Controller) disksFor(b Blob) (best []*member) {
	if c.withDisks == nil {
		c.withDisks = []*member{}
		for _, m := range c.sortedMembers() {
			if m.disk != "" && m.group != nil {
				c.withDisks = append(c.withDisks, m)
			}
		}
	}
	for _, m := range c.withDisks {
		best = append(best, m)
		for i := len(best) - 1; i > 0 && c.before(best[i], best[i-1], b); i-- {
			best[i], best[i-1] = best[i-1], best[i]
		}
		best = best[:min(2, len(best))]
	}
	return best
}

// before reports whether a disk is a better one for an output: one that has just failed to write, or whose node leaves, is worse than
// all others.
func (c *Controller) before(m, o *member, b Blob) bool {
	if x, y := c.now < m.unfit || m.goes, c.now < o.unfit || o.goes; x != y {
		return y
	}
	return rank(m.disk, b) > rank(o.disk, b)
}

// rank orders the disks for an output, by FNV-1a.
func rank(disk string, b Blob) uint64 {
	h := uint64(14695981039346656037)
	add := func(x byte) { h = (h ^ uint64(x)) * 1099511628211 }
	for i := range len(disk) {
		add(disk[i])
	}
	for _, n := range []uint64{b.Run.Epoch, b.Run.Index, uint64(b.Task)} {
		for ; n > 0; n >>= 8 {
			add(byte(n))
		}
		add(0xff)
	}
	return h ^ h>>29
}

// blobWritten takes what a disk answers.
func (c *Controller) blobWritten(m *member, w BlobWritten) {
	s := m.saves[w.Blob]
	if s == nil {
		return
	}
	delete(m.saves, w.Blob)
	c.stop(s.asked[m])
	switch {
	case w.Missing:
		c.gone(w.Blob)
		c.saveFailed(s, "nobody has the output any more")
	case w.Failed != "":
		m.unfit = c.now + unfitFor
		c.saveFailed(s, w.Failed)
	default:
		s.disks = append(s.disks, w.Disk)
		if s.left--; s.left == 0 {
			c.saved(s)
		}
	}
}

// saved takes that all disks have a checkpoint. Where it is is recorded with it, or before.
func (c *Controller) saved(s *save) {
	c.endSave(s)
	h := s.run
	if h.gone || !h.run.holds(s.blob) {
		return
	}
	slices.Sort(s.disks)
	p := Places{Blob: s.blob, Disks: s.disks}
	h.put(s.blob.Task, p)
	c.add(nil, Row{Key: blobKey(h.uid, s.blob.Task, s.blob.Gen), Value: p})
	c.step(h, Checkpointed{Task: s.blob.Task, Gen: s.blob.Gen, Made: s.blob.Made}, nil)
}

func (c *Controller) saveFailed(s *save, why string) {
	if s.over {
		return
	}
	c.endSave(s)
	c.step(s.run, Checkpointed{Task: s.blob.Task, Gen: s.blob.Gen, Made: s.blob.Made, Failed: why}, nil)
}

// saveLate gives a checkpoint up that a disk does not answer: the next one goes to others.
func (c *Controller) saveLate(s *save) {
	late := ""
	for _, m := range c.sortedMembers() {
		if msg := s.asked[m]; msg != nil && !msg.done {
			m.unfit = c.now + unfitFor
			late += " " + string(m.node)
		}
	}
	c.saveFailed(s, "no answer of the disks of nodes"+late)
}

func (c *Controller) endSave(s *save) {
	s.over = true
	c.saveEnds.Cancel(s)
	for m, msg := range s.asked {
		c.stop(msg)
		delete(m.saves, s.blob)
	}
	delete(c.saves, s.blob)
	s.run.saves--
	c.saveMore()
}
