package soak

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/children"
	"github.com/phalanx-go/phalanx/workflow"
)

// host has a node of workflows. Its process starts again over its folder, at its address.
type host struct {
	number int
	node   WorkflowNode

	mu      sync.Mutex
	process *process // the last one; nil: none has joined yet
	address string   // of the node, once it has joined
}

func (h *host) running() *process {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.process
}

// start starts a host's process, and returns once its node is a member.
func (w *workflows) start(h *host) error {
	n := h.node
	for _, other := range w.hosts {
		other.mu.Lock()
		if other != h && other.address != "" {
			n.Seeds = append(n.Seeds, other.address)
		}
		other.mu.Unlock()
	}
	cmd := w.cfg.Command(n)
	if w.bed != nil {
		there := w.bed.Command(h.number, cmd.Path, cmd.Args[1:]...)
		there.Env = cmd.Env
		cmd = there
	}
	p, err := launch(n.Name, cmd, w.clock, func(*process, bool) {}, w.stood)
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.process = p
	h.mu.Unlock()
	select {
	case l := <-p.up:
		h.mu.Lock()
		h.address, h.node.Control = l.Node.Control, portOf(l.Node.Control)
		h.mu.Unlock()
		return nil
	case <-p.Done():
		err = fmt.Errorf("the process has ended (%s): %s", children.How(p.Err()), p.errors.String())
	case <-time.After(joining):
		err = fmt.Errorf("the node did not join within %v: %s", joining, p.errors.String())
	case <-w.ctx.Done():
		err = w.ctx.Err()
	}
	_ = p.Kill()
	return &phalanx.Error{Op: "soak", Node: phalanx.NodeID(n.Name), Kind: phalanx.ErrUnavailable, Err: err}
}

// startAll starts hosts at once.
func (w *workflows) startAll(hosts []*host) error {
	failed := make(chan error, len(hosts))
	for _, h := range hosts {
		go func() { failed <- w.start(h) }()
	}
	var err error
	for range hosts {
		err = errors.Join(err, <-failed)
	}
	return err
}

// any returns a process that has not ended, or nil.
func (w *workflows) any(rng *rand.Rand) *process {
	for _, i := range rng.Perm(len(w.hosts)) {
		if p := w.hosts[i].running(); p != nil && !ended(p) {
			return p
		}
	}
	return nil
}

func ended(p *process) bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}

func (w *workflows) processes() (all []*process) {
	for _, h := range w.hosts {
		if p := h.running(); p != nil {
			all = append(all, p)
		}
	}
	return all
}

// endHosts ends all processes at once.
func (w *workflows) endHosts() {
	for _, p := range w.processes() {
		_ = p.Kill()
		<-p.Done()
	}
}

// whole waits until the cluster could be hit again, and returns why it could not, or "".
func (w *workflows) whole() (why string) {
	long := w.clock() + 10*time.Second
	whole := w.eventually(wholePatience, func() bool {
		if why = w.lacks(); why != "" && w.clock() > long {
			w.tell("the cluster has not recovered yet: %s", why)
			long = w.clock() + 10*time.Second
		}
		return why == ""
	})
	if whole {
		return ""
	}
	return why
}

// wholePatience is how long a disk that was emptied may be away, a new replica may take, and a bit.
const wholePatience = replaceAfter + restorePatience

// lacks returns why the cluster could not be hit now, or "": all nodes see each other, and the ledger is on three disks that are
// there.
func (w *workflows) lacks() string {
	for _, p := range w.processes() {
		s, err := p.state(false)
		switch {
		case err != nil:
			return err.Error()
		case len(s.Members) != len(w.hosts):
			return fmt.Sprintf("%s sees %v", p.name, s.Members)
		}
	}
	disks, _ := w.ledger(w.hosts[0].running())
	there := 0
	for _, d := range disks {
		switch {
		case d.Holds && (w.lost[d.Disk] || d.Failed || d.Node == "" || d.Silent > silentFor):
			return fmt.Sprintf("the ledger is on a disk that is away: %+v", d)
		case d.Holds:
			there++
		}
	}
	if there != 3 {
		return fmt.Sprintf("the ledger is on %d disks", there)
	}
	return ""
}

// ledger returns the disks as a process knows them, and where the controller is; nothing if it does not answer.
func (w *workflows) ledger(p *process) (disks []workflow.LedgerDisk, leader string) {
	l, ok := p.ask(order{Do: "disks", Deadline: runCall, Run: &program{}}, runCall)
	if !ok || l.Kind != 0 || l.Run == nil || l.Run.Ledger == nil {
		return nil, ""
	}
	return l.Run.Ledger.Disks, l.Run.Ledger.Leader.Name()
}

// silentFor is how long a disk may be silent that is there.
const silentFor = 5 * time.Second

// leader returns the host of the controller, or nil.
func (w *workflows) leader() *host {
	_, leader := w.ledger(w.hosts[0].running())
	if i := slices.IndexFunc(w.hosts, func(h *host) bool { return h.node.Name == leader }); i >= 0 {
		return w.hosts[i]
	}
	return nil
}
