package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/internal/children"
)

// process is a node process as the test sees it.
type process struct {
	*children.Child
	host int
	name string
	log  strings.Builder // its standard error; to be read after it has ended

	mu      sync.Mutex
	changed chan struct{} // closed and made anew with every line
	asked   int
	answers map[int]line
	events  []actors.Event
	at      []time.Time // of events: when they were read
}

// launch starts a node process on a host.
func launch(t testing.TB, host int, name string, seeds ...string) *process {
	t.Helper()
	return launchWith(t, host, nodeConfig{Name: name, Addr: shared.Addr(host), Seeds: seeds})
}

func launchWith(t testing.TB, host int, c nodeConfig) *process {
	t.Helper()
	p := &process{host: host, name: c.Name, answers: map[int]line{}, changed: make(chan struct{})}
	cfg, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	cmd := shared.Command(host, os.Args[0])
	cmd.Env = append(os.Environ(), nodeVar+"="+string(cfg))
	cmd.Stderr = &p.log
	if p.Child, err = children.Talk(cmd, p.heard); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Kill()
		if t.Failed() {
			p.tell(t)
		}
	})
	return p
}

// tell logs what the process did, after it has ended.
func (p *process) tell(t testing.TB) {
	t.Log(p.told())
	if s := p.log.String(); s != "" {
		t.Logf("%s wrote:\n%s", p.name, s)
	}
}

// told returns the events of the process as text.
func (p *process) told() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var text strings.Builder
	for i, e := range p.events {
		if _, ok := e.(actors.ShardMoved); !ok { // there are so many
			fmt.Fprintf(&text, "%s %s %v\n", p.at[i].Format("05.000"), p.name, e)
		}
	}
	return text.String()
}

func (p *process) heard(l line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.Event == "" {
		p.answers[l.N] = l
	} else if e, err := l.decoded(); err == nil {
		p.events, p.at = append(p.events, e), append(p.at, time.Now())
	}
	close(p.changed)
	p.changed = make(chan struct{})
}

// joined waits until the node has joined or its process has ended without.
func (p *process) joined() (s *state, ok bool) {
	ok = p.until(func() (ok bool) {
		l, ok := p.answers[0]
		s = l.State
		return ok
	})
	return s, ok
}

// until waits until ok, which is called with p locked, and says whether that
// was before the patience or the process ended.
func (p *process) until(ok func() bool) bool {
	end := time.After(patience + patience/2)
	for {
		p.mu.Lock()
		done, changed := ok(), p.changed
		p.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-changed:
		case <-p.Done():
			p.mu.Lock()
			defer p.mu.Unlock()
			return ok() // its last line has been heard
		case <-end:
			return false
		}
	}
}

func (p *process) signal(t testing.TB, sig syscall.Signal) {
	t.Helper()
	if err := p.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
}

// call is an order that was given.
type call struct {
	of *process
	order
}

// tell gives an order.
func tell(p *process, o order) call {
	p.mu.Lock()
	p.asked++
	o.N = p.asked
	p.mu.Unlock()
	_ = p.Tell(o) // a process that has ended does not answer
	return call{p, o}
}

// answer waits for a call's answer, which may be an error. None is a failure.
func (c call) answer(t testing.TB) line {
	t.Helper()
	var l line
	if !c.of.until(func() (ok bool) { l, ok = c.of.answers[c.N]; return ok }) {
		t.Fatalf("%s on %s hangs: no answer", c, c.of.name)
	}
	return l
}

// must waits for calls that have to succeed.
func must(t testing.TB, calls ...call) []line {
	t.Helper()
	var all []line
	for _, c := range calls {
		l := c.answer(t)
		if l.Err != "" {
			t.Errorf("%s on %s: %s", c, c.of.name, l.Err)
		}
		all = append(all, l)
	}
	if t.Failed() {
		t.FailNow()
	}
	return all
}

func (c call) String() string { return fmt.Sprintf("%s %s", c.Do, c.Object) }

func (p *process) state(t testing.TB) *state {
	t.Helper()
	return must(t, tell(p, order{Do: "state"}))[0].State
}

// id is the node's present incarnation.
func (p *process) id(t testing.TB) phalanx.NodeID { t.Helper(); return p.state(t).Node }

// seen returns the process's events of one kind.
func seen[E actors.Event](p *process, is func(E) bool) []E {
	p.mu.Lock()
	defer p.mu.Unlock()
	return seenLocked(p, is)
}

func seenLocked[E actors.Event](p *process, is func(E) bool) []E {
	var all []E
	for _, e := range p.events {
		if e, ok := e.(E); ok && is(e) {
			all = append(all, e)
		}
	}
	return all
}

// forget forgets the events so far.
func (p *process) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events, p.at = nil, nil
}

// expect waits for an event and returns the first such.
func expect[E actors.Event](t testing.TB, p *process, is func(E) bool) E {
	t.Helper()
	var all []E
	if !p.until(func() bool { all = seenLocked(p, is); return len(all) > 0 }) {
		var e E
		t.Fatalf("%s tells of no such %s, but:\n%s", p.name, e.Kind(), p.told())
	}
	return all[0]
}
