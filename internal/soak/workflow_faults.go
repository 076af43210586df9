package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/phalanx-go/phalanx/internal/bed"
)

// The kinds of faults of nodes of workflows, beside killed, stopped and leaving.
const (
	cut       = "cut"     // a node from all others, or from one
	restarted = "restart" // all processes are killed at once
	emptied   = "disk"    // the process is killed, and its folder is empty when it starts again
	full      = "full"    // disk
	upgraded  = "upgrade" // of node after node
)

// WorkflowFaults are the kinds of faults of RunWorkflows.
var WorkflowFaults = []string{killed, stopped, leaving, cut, restarted, emptied, full, upgraded}

// shares are how often a kind happens, relative to the others. A disk takes 20 s to be replaced.
var shares = map[string]int{killed: 30, stopped: 30, leaving: 15, cut: 20, restarted: 10, emptied: 8, full: 7, upgraded: 3}

// nemesis causes one fault after the other until ctx ends, one at least, and returns when the cluster has recovered.
func (w *workflows) nemesis(ctx context.Context, rng *rand.Rand) {
	pause(ctx, 300*time.Millisecond+milliseconds(rng, 700))
	for w.ctx.Err() == nil && len(w.kinds) > 0 {
		if err := w.strike(rng); err != nil {
			w.fail(err)
			return
		}
		if pause(ctx, 300*time.Millisecond+milliseconds(rng, 2000)); ctx.Err() != nil {
			return
		}
	}
}

// strike causes a fault and waits until the cluster could be hit again.
func (w *workflows) strike(rng *rand.Rand) error {
	kind := w.choose(rng)
	h := w.hosts[rng.IntN(len(w.hosts))]
	if rng.IntN(2) == 0 {
		if l := w.leader(); l != nil { // half of the faults meet the controller
			h = l
		}
	}
	if kind == emptied || kind == full {
		h = w.hosts[rng.IntN(diskNodes)]
	}
	hit := []*host{h}
	if kind == restarted || kind == upgraded {
		hit = w.hosts
	}
	w.mu.Lock()
	w.res.Faults[kind]++
	w.mu.Unlock()
	var windows []*window
	for _, h := range hit {
		windows = append(windows, w.faults.begin(h.node.Name, kind, w.clock()))
	}
	err := w.inflict(rng, kind, h)
	why := ""
	if err == nil {
		if err = w.revive(hit); err == nil {
			why = w.whole()
		}
	}
	for _, f := range windows {
		w.faults.end(f, w.clock())
	}
	w.faults.forget(w.clock() - runDeadline)
	if why != "" && w.ctx.Err() == nil {
		return fmt.Errorf("%v after the fault %s of %s the cluster has not recovered: %s", wholePatience, kind, h.node.Name, why)
	}
	return err
}

func (w *workflows) choose(rng *rand.Rand) string {
	sum := 0
	for _, k := range w.kinds {
		sum += shares[k]
	}
	dice := rng.IntN(sum)
	for _, k := range w.kinds {
		if dice -= shares[k]; dice < 0 {
			return k
		}
	}
	return killed
}

// inflict causes a fault, and ends it where it does not end with a start.
func (w *workflows) inflict(rng *rand.Rand, kind string, h *host) error {
	name := h.node.Name
	switch kind {
	case killed:
		w.tell("kill %s", name)
		return w.kill(h)
	case leaving:
		w.tell("%s leaves, and comes back", name)
		return w.leave(h)
	case restarted:
		w.tell("kill all")
		return w.kill(w.hosts...)
	case emptied:
		w.tell("kill %s, and empty its disk", name)
		disks, _ := w.ledger(w.hosts[0].running())
		for _, d := range disks {
			if d.Node.Name() == name {
				w.lost[d.Disk] = true
			}
		}
		if err := w.kill(h); err != nil {
			return err
		}
		return empty(h.node.Dir)
	case stopped:
		return w.hangs(rng, h)
	case cut:
		return w.cutOff(rng, h)
	case full:
		return w.fill(rng, h)
	case upgraded:
		return w.upgrade(rng)
	}
	return fmt.Errorf("there is no fault %q", kind)
}

// kill kills the processes of hosts, and returns when they have ended.
func (w *workflows) kill(hosts ...*host) error {
	for _, h := range hosts {
		_ = h.running().Kill() // it may have ended by itself
	}
	for _, h := range hosts {
		<-h.running().Done()
	}
	return nil
}

// empty removes what a folder has.
func empty(dir string) error {
	all, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return err
	}
	for _, f := range all {
		if err := os.RemoveAll(f); err != nil {
			return err
		}
	}
	return nil
}

// lasting returns a time that others do not notice, or one after which they remove the node, or one after which the process may
// have to end, since an attempt runs there.
func lasting(rng *rand.Rand) time.Duration {
	switch dice := rng.IntN(10); {
	case dice < 4:
		return 50*time.Millisecond + milliseconds(rng, 350)
	case dice < 9:
		return 600*time.Millisecond + milliseconds(rng, 4000)
	}
	return 12 * time.Second
}

func (w *workflows) hangs(rng *rand.Rand, h *host) error {
	d := lasting(rng)
	w.tell("stop %s for %v", h.node.Name, d)
	p := h.running()
	if err := p.suspend(); err != nil {
		return err
	}
	pause(context.Background(), d)
	return p.resume()
}

func (w *workflows) cutOff(rng *rand.Rand, h *host) error {
	d := lasting(rng)
	var others []int
	for _, o := range w.hosts {
		if o != h {
			others = append(others, o.number)
		}
	}
	if rng.IntN(2) == 0 {
		i := rng.IntN(len(others))
		others = others[i : i+1]
	}
	w.tell("cut %s off from %d others for %v", h.node.Name, len(others), d)
	if err := w.bed.Cut(bed.Between(h.number, others...)...); err != nil {
		return err
	}
	pause(context.Background(), d)
	return w.bed.HealAll()
}

// fill has a disk be full for a while. The folder is opened again then: a disk whose write has failed is not used any more.
func (w *workflows) fill(rng *rand.Rand, h *host) error {
	d := time.Second + milliseconds(rng, 4000)
	w.tell("the disk of %s is full for %v", h.node.Name, d)
	if err := fillDisk(h.node.Dir); err != nil {
		return err
	}
	pause(context.Background(), d)
	if err := growDisk(h.node.Dir); err != nil {
		return err
	}
	return w.kill(h)
}

// revive starts the processes again that have ended. One that was not hit must not have ended: one that was may end by itself, as
// its node was away from the others for too long while an attempt went on there.
func (w *workflows) revive(hit []*host) error {
	var dead []*host
	for _, h := range w.hosts {
		p := h.running()
		if !ended(p) {
			continue
		}
		if !slices.Contains(hit, h) {
			return fmt.Errorf("%s has ended without a fault: %s", h.node.Name, p.errors.String())
		}
		dead = append(dead, h)
	}
	return w.startAll(dead)
}

// upgrade starts node after node again, as another build whose task has another version. Runs go on meanwhile. All leave but the last
// one, which is killed. At the end somebody who knows nothing of it starts a run of the version before.
func (w *workflows) upgrade(rng *rand.Rand) error {
	before := w.present()
	version := before + 1
	for i, h := range w.hosts {
		w.tell("%s ends, and comes back with version %d of the task", h.node.Name, version)
		if i < len(w.hosts)-1 {
			if err := w.leave(h); err != nil {
				return err
			}
		} else { // which leaves runs behind that nobody can execute
			if err := w.kill(h); err != nil {
				return err
			}
			w.mu.Lock()
			w.version = version
			w.mu.Unlock()
		}
		h.node.Versions, h.node.Build = []int{version}, h.node.Build+1
		if err := w.start(h); err != nil {
			return err
		}
		if why := w.whole(); why != "" {
			return fmt.Errorf("after the upgrade of %s the cluster has not recovered: %s", h.node.Name, why)
		}
	}
	w.hashOnce(rng, before) // which tells what is wrong
	return nil
}

// leave has a process leave in good order.
func (w *workflows) leave(h *host) error {
	p := h.running()
	p.Ask()
	ctx, cancel := context.WithTimeout(context.Background(), leavePatience)
	defer cancel()
	if err := p.Wait(ctx); err != nil {
		return fmt.Errorf("%s did not leave in good order: %w: %s", h.node.Name, err, p.errors.String())
	}
	return nil
}
