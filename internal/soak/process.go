package soak

import (
	"fmt"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/internal/children"
)

// process is a node process as the driver sees it.
type process struct {
	*children.Child
	name   string
	clock  func() time.Duration
	fenced func(p *process, back bool) // its node was removed, or is back
	stood  func(name string, d time.Duration)
	errors tail // its standard error

	mu     sync.Mutex
	asked  uint64
	waits  map[uint64]chan line
	up     chan line // its first line
	events []string  // the last ones
}

// keepEvents is how many events of a process are kept for the account of a
// failure.
const keepEvents = 60

func launch(name string, cmd *exec.Cmd, clock func() time.Duration, fenced func(*process, bool), stood func(string, time.Duration)) (*process, error) {
	p := &process{name: name, clock: clock, fenced: fenced, stood: stood, waits: map[uint64]chan line{}, up: make(chan line, 1)}
	cmd.Stderr = &p.errors
	tie(cmd)
	var err error
	p.Child, err = children.Talk(cmd, p.said)
	return p, err
}

func (p *process) said(l line) {
	switch {
	case l.Event != "":
		p.saw(l)
		return
	case l.Stood > 0:
		p.note(fmt.Sprintf("the process stood still for %v", l.Stood))
		p.stood(p.name, l.Stood)
		return
	}
	p.mu.Lock()
	ch := p.waits[l.N]
	delete(p.waits, l.N)
	p.mu.Unlock()
	switch {
	case l.N == 0:
		p.up <- l
	case ch != nil:
		ch <- l
	}
}

func (p *process) saw(l line) {
	e, err := actors.Decode(l.Event, l.Data)
	if err != nil {
		p.note(err.Error())
		return
	}
	switch e.(type) {
	case actors.ShardMoved, actors.ShardWarm, actors.RunStarted, actors.RunClosed: // there are many, and the driver sees their results
	default:
		p.note(e.String())
	}
	switch e.(type) {
	case actors.NodeFenced:
		p.fenced(p, false)
	case actors.NodeRejoined:
		p.fenced(p, true)
	}
}

// note keeps an event for the account of a failure.
func (p *process) note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = append(p.events, fmt.Sprintf("%9.3f  %s", p.clock().Seconds(), text))
	if over := len(p.events) - keepEvents; over > 0 {
		p.events = slices.Delete(p.events, 0, over)
	}
}

// account returns the last events of the process and its standard error.
func (p *process) account() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := slices.Clone(p.events)
	if s := p.errors.String(); s != "" {
		all = append(all, "standard error: "+s)
	}
	return all
}

// ask gives an order and waits for the answer, for at most patience. ok is false if
// none came: the process has ended, or patience has.
func (p *process) ask(o order, patience time.Duration) (l line, ok bool) {
	ch := make(chan line, 1)
	p.mu.Lock()
	p.asked++
	o.N = p.asked
	p.waits[o.N] = ch
	p.mu.Unlock()
	_ = p.Tell(o) // a process that has ended does not answer
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case l := <-ch:
		return l, true
	case <-p.Done():
		select {
		case l := <-ch: // its last line
			return l, true
		default:
		}
	case <-timer.C:
	}
	return line{}, false
}

// state asks the process for its state; with rest for its heap too.
func (p *process) state(rest bool) (*nodeState, error) {
	l, ok := p.ask(order{Do: "state", Rest: rest, Deadline: callDeadline}, answerPatience)
	switch {
	case !ok:
		return nil, &phalanx.Error{Op: "soak", Node: phalanx.NodeID(p.name), Kind: phalanx.ErrDeadline, Err: fmt.Errorf("the process does not answer")}
	case l.Node == nil:
		return nil, &phalanx.Error{Op: "soak", Node: phalanx.NodeID(p.name), Kind: l.Kind, Err: fmt.Errorf("%s", l.Err)}
	}
	return l.Node, nil
}

// tail keeps the last bytes that are written to it.
type tail struct {
	mu  sync.Mutex
	all []byte
}

const keepErrors = 8 << 10 // bytes

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, b...)
	if over := len(t.all) - keepErrors; over > 0 {
		t.all = append(t.all[:0:0], t.all[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.all)
}
