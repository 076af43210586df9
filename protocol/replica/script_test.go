package replica

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/phalanx-go/phalanx"
)

// TestScripts replays testdata/*.txt; run with -rewrite, then read the diff.
//
// A script drives hosts that are wired together. A message waits until "deliver" delivers it and
// what follows from it. The first member of a view is the primary of all keys, the next two are the
// backups.
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are no scripts: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			w := &world{piece: 4, hosts: map[phalanx.NodeID]*host{}}
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				w.out.Reset()
				w.run(t, d)
				if w.out.Len() == 0 {
					return "ok\n"
				}
				return w.out.String()
			})
		})
	}
}

// world is hosts on a network.
type world struct {
	now   time.Duration
	piece int
	hosts map[phalanx.NodeID]*host
	wire  []wired
	kept  []wired // copies that come late
	out   strings.Builder
}

type wired struct {
	from, to phalanx.NodeID
	m        message
}

func (f wired) String() string { return fmt.Sprintf("%s to %s: %s", f.from, f.to, describe(f.m)) }

func (w *world) host(id phalanx.NodeID) *host {
	if w.hosts[id] == nil {
		h := newHost(id, w.piece)
		h.send = func(from, to phalanx.NodeID, m message) { w.wire = append(w.wire, wired{from, to, m}) }
		h.answer = func(by phalanx.NodeID, key string, changes []string, e *entry) {
			fmt.Fprintf(&w.out, "%s answers %s %s %q\n", by, key, e.Version, changes)
		}
		w.hosts[id] = h
	}
	return w.hosts[id]
}

func (w *world) ids() []phalanx.NodeID { return slices.Sorted(maps.Keys(w.hosts)) }

func (w *world) run(t *testing.T, d *datadriven.TestData) {
	arg := func(i int) string { return d.CmdArgs[i].Key }
	text := func() string { // a part of the messages that are meant
		var words []string
		for _, a := range d.CmdArgs {
			words = append(words, a.String())
		}
		return strings.Join(words, " ")
	}
	switch d.Cmd {
	case "view": // view NUMBER MEMBER... [to=(NODE...)]: these learn it, or all members
		number, err := strconv.ParseUint(arg(0), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		var members, to []phalanx.NodeID
		for _, a := range d.CmdArgs[1:] {
			if a.Key != "to" {
				members = append(members, phalanx.NodeID(a.Key))
				continue
			}
			for _, v := range a.Vals {
				to = append(to, phalanx.NodeID(v))
			}
		}
		if to == nil {
			to = members
		}
		for _, id := range to {
			h := w.host(id)
			h.now = w.now
			h.learn(number, members)
		}
	case "change": // change NODE KEY TEXT
		h := w.host(phalanx.NodeID(arg(0)))
		if h.change(arg(1), arg(2)); h.primary() != h.id {
			fmt.Fprintf(&w.out, "%s is not the primary\n", h.id)
		}
	case "forget": // forget NODE KEY: NODE tells its backups that the replica is not needed
		h := w.host(phalanx.NodeID(arg(0)))
		for _, n := range h.backups() {
			h.send(h.id, n, forget{arg(1), h.terms.Term})
		}
	case "lose-replica": // lose-replica NODE KEY
		delete(w.host(phalanx.NodeID(arg(0))).entries, arg(1))
	case "lease": // lease NODE on|off
		h := w.host(phalanx.NodeID(arg(0)))
		h.leased = arg(1) == "on"
		h.tick(w.now)
	case "deliver": // deliver [TEXT]: all messages and what follows, or the first one with that text
		w.deliver(t, d, text)
	case "lose": // lose TEXT
		was := len(w.wire)
		w.wire = slices.DeleteFunc(w.wire, func(f wired) bool { return strings.Contains(f.String(), text()) })
		fmt.Fprintf(&w.out, "%d lost\n", was-len(w.wire))
	case "keep": // keep TEXT: copies of these messages come with the next "late"
		for _, f := range w.wire {
			if strings.Contains(f.String(), text()) {
				w.kept = append(w.kept, f)
				fmt.Fprintf(&w.out, "%s\n", f)
			}
		}
	case "late":
		w.wire, w.kept = append(w.wire, w.kept...), nil
		w.deliver(t, d, text)
	case "pass": // pass DURATION: hosts look at the time when they want to
		span, err := time.ParseDuration(arg(0))
		if err != nil {
			t.Fatal(err)
		}
		w.pass(span)
	case "wire":
		for _, f := range w.wire {
			fmt.Fprintf(&w.out, "%s\n", f)
		}
	case "show":
		for _, id := range w.ids() {
			h := w.hosts[id]
			fmt.Fprintf(&w.out, "%s: view %d, term %d, heeds %d", id, h.view, h.terms.Term, h.terms.Fence)
			for _, key := range h.keys() {
				e := h.entries[key]
				fmt.Fprintf(&w.out, "; %s %s %q", key, e.Version, e.state)
			}
			fmt.Fprintln(&w.out)
		}
	default:
		t.Fatalf("%s: there is no command %q", d.Pos, d.Cmd)
	}
}

func (w *world) deliver(t *testing.T, d *datadriven.TestData, text func() string) {
	if len(d.CmdArgs) > 0 {
		i := slices.IndexFunc(w.wire, func(f wired) bool { return strings.Contains(f.String(), text()) })
		if i < 0 {
			t.Fatalf("%s: there is no such message", d.Pos)
		}
		f := w.wire[i]
		w.wire = slices.Delete(w.wire, i, i+1)
		w.bring(f)
		return
	}
	for n := 0; len(w.wire) > 0; n++ {
		if n == 1000 {
			t.Fatalf("%s: hosts go on sending to each other", d.Pos)
		}
		f := w.wire[0]
		w.wire = w.wire[1:]
		w.bring(f)
	}
}

func (w *world) bring(f wired) {
	fmt.Fprintf(&w.out, "%s\n", f)
	h := w.host(f.to)
	h.now = w.now
	h.heard(f.from, f.m)
}

func (w *world) pass(span time.Duration) {
	for end := w.now + span; ; {
		next := end
		for _, h := range w.hosts {
			if at, ok := h.due(); ok {
				next = min(next, max(at, w.now))
			}
		}
		if next >= end {
			w.now = end
			return
		}
		for w.now = max(next, w.now+1); ; { // all that are due
			was := len(w.wire)
			for _, id := range w.ids() {
				w.hosts[id].tick(w.now)
			}
			if len(w.wire) == was {
				break
			}
			for _, f := range w.wire[was:] {
				fmt.Fprintf(&w.out, "%v %s\n", w.now.Round(time.Millisecond), f)
			}
		}
	}
}
