package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/barrier"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/group"
	"github.com/phalanx-go/phalanx/internal/httpapi"
	"github.com/phalanx-go/phalanx/internal/httpapi/fakenode"
)

// bed is a fake node with an HTTP server, and the program beside it.
type bed struct {
	node    *fakenode.Node
	addr    string
	environ []string
}

func newBed(t *testing.T) *bed {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	node := fakenode.New()
	server := httptest.NewServer(httpapi.New(node, httpapi.Options{Logger: log}).Handler())
	t.Cleanup(server.Close)
	return &bed{node, server.URL, []string{"PHALANX_ADDR=" + server.URL}}
}

// app returns a program whose output is out and errs.
func (b *bed) app(stdin string, out, errs io.Writer) *app {
	return &app{stdin: strings.NewReader(stdin), stdout: out, stderr: errs, environ: b.environ, output: "text",
		now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC) }}
}

// run runs the program and shows all that came of it.
func (b *bed) run(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	code := b.app(stdin, &out, &errs).run(t.Context(), args)
	text := out.String()
	for line := range strings.Lines(errs.String()) {
		text += "error| " + line
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += " (no newline)\n"
	}
	if code != 0 {
		text += fmt.Sprintf("exit %d\n", code)
	}
	if b.addr == "" {
		return text
	}
	return strings.ReplaceAll(text, b.addr, "http://ADDR")
}

// Each script is a new node and a new folder. "run" has a command line, with
// standard input below it; "file" and "cat" are about files; "tree",
// "barriers" and "groups" are what the node knows of those; "workflow" changes a run,
// and "took" are the signals that runs have taken.
func TestCommands(t *testing.T) {
	scripts, err := filepath.Glob("testdata/commands/*.txt")
	if err != nil || len(scripts) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, script := range scripts {
		path, err := filepath.Abs(script)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(script), func(t *testing.T) {
			t.Chdir(t.TempDir())
			b := newBed(t)
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return b.step(t, d) })
		})
	}
}

func (b *bed) step(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "run":
		line, stdin, _ := strings.Cut(d.Input, "\n")
		return b.run(t, stdin, strings.Fields(line)...)
	case "file":
		if err := os.WriteFile(d.CmdArgs[0].Key, []byte(d.Input), 0o644); err != nil {
			t.Fatal(err)
		}
		return ""
	case "cat":
		data, err := os.ReadFile(d.CmdArgs[0].Key)
		if err != nil {
			t.Fatal(err)
		}
		return string(data) + "\n"
	case "ls":
		entries, err := os.ReadDir(".")
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return strings.Join(names, "\n") + "\n"
	case "formed": // the node is in a cluster that was formed anew
		b.node.Info.View, b.node.Info.Formed, b.node.Info.MissingMembers = 1<<42|5<<32|17, 1, []phalanx.NodeID{"n7#7", "n8#8"}
		return ""
	case "workflow": // lose ID | begin ID | end ID RESULT | fail ID WHY | stick ID | takes NAME
		what, id := d.CmdArgs[0].Key, d.CmdArgs[1].Key
		switch what {
		case "begin":
			b.node.StartRun(id)
		case "end":
			b.node.EndRun(id, []byte(d.Input), "")
		case "fail":
			b.node.EndRun(id, nil, d.Input)
		case "lose":
			b.node.LoseOutput(id)
		case "stick":
			b.node.StickRun(id)
		}
		return ""
	case "took":
		return strings.Join(b.node.Took, "\n") + "\n"
	case "barriers":
		b.node.Bars = someBarriers()
		return ""
	case "groups":
		b.node.Grps = someGroups()
		return ""
	case "fail":
		b.node.Fail = &phalanx.Error{Op: d.CmdArgs[0].Key + " list", Node: "n9#9", Kind: phalanx.ErrUnavailable, Err: errors.New("it does not answer")}
		return ""
	case "tree":
		b.node.Tr = httpapi.Tree{Object: "t", Kind: d.CmdArgs[0].Key, State: "final", Size: 1 << 20}
		if d.CmdArgs[0].Key == "reduce" {
			b.node.Tr.Degree = 2
			reduceTree(&b.node.Tr)
		} else {
			broadcastTree(&b.node.Tr)
		}
		return ""
	}
	t.Fatalf("there is no %q", d.Cmd)
	return ""
}

// someBarriers are one that waits, one that has fired, and a semaphore.
func someBarriers() []barrier.Status {
	return []barrier.Status{
		{Name: "map", Managers: []phalanx.NodeID{"n1#1", "n2#2"}, Entered: 1, Max: 3, Absent: []string{"map/1", "map/2"}, Age: 1500 * time.Millisecond, Knee: 1747 * time.Millisecond, KneeFrom: 60,
			Entries: []barrier.EntryStatus{{Label: "map/0", Host: "worker", Nodes: []phalanx.NodeID{"n2#2"}, State: "waiting"}}},
		{Name: "slots", Managers: []phalanx.NodeID{"n2#2"}, Entered: 1, Semaphore: 4, Holding: 1, Entries: []barrier.EntryStatus{{Host: "h", Nodes: []phalanx.NodeID{"n1#1"}, State: "holding"}}},
		{Name: "step", Generation: 7, Managers: []phalanx.NodeID{"n2#2", "n1#1"}, Entered: 1, Max: 2, Fired: "timeout",
			Entries: []barrier.EntryStatus{{Host: "a", Nodes: []phalanx.NodeID{"n1#1"}, State: "through"}, {Host: "b", Nodes: []phalanx.NodeID{"n2#2"}, State: "late"}}, More: 30},
	}
}

// someGroups are one that has lost members, one that is left alone, and a large one
// that is revoked.
func someGroups() []group.Status {
	large := group.Status{Name: "train~1-0badcafe", Revoked: &group.RevokeStatus{By: group.Member{Node: "n2#2", Label: "w5"}, Rank: 5, Reason: "loss is NaN\n", At: time.Date(2026, 1, 2, 3, 4, 4, 5e6, time.UTC)}, Sent: 235}
	for i := range 30 {
		m := group.MemberStatus{Node: phalanx.NodeID(fmt.Sprintf("n%d#%[1]d", i/3+1)), Label: fmt.Sprint("w", i), State: group.Live}
		if i >= 27 {
			m.State = group.Failed
		}
		large.Members = append(large.Members, m)
	}
	return []group.Status{
		{Name: "lone", Members: []group.MemberStatus{{Node: "n1#1", State: group.Live}}, Revoked: &group.RevokeStatus{By: group.Member{Node: "n1#1"}, At: time.Date(2026, 1, 2, 3, 4, 4, 0, time.UTC)}, Sent: 1},
		{Name: "train", Members: []group.MemberStatus{{Node: "n1#1", State: group.Live}, {Node: "n2#2", State: group.Left}, {Node: "n3#3", Label: "w1", State: group.Failed}, {Node: "n3#3", Label: "w2", State: group.Failed}}},
		large,
	}
}

func broadcastTree(t *httpapi.Tree) {
	t.Nodes = []httpapi.TreeNode{
		{Node: "n1#1", Complete: true, Pinned: true, Origin: true, Held: 1 << 20}, {Node: "n2#2", Held: 1 << 19}, {Node: "n3#3", Held: -1},
		{Node: "n4#4", Held: -1}, {Node: "n5#5", Complete: true, Held: -1}}
	t.Edges = []httpapi.TreeEdge{{From: "n1#1", To: "n2#2"}, {From: "n2#2", To: "n3#3"}, {From: "n1#1", To: "n4#4"}, {From: "gone#9", To: "n5#5"}}
}

// reduceTree is figure 5a of the paper: R4{R2{R1,R3}, R6{R5}}; two places lie on
// one node.
func reduceTree(t *httpapi.Tree) {
	for _, p := range []struct {
		place  int
		node   string
		source string
		parent int
	}{{0, "n4#4", "R4", -1}, {1, "n2#2", "R2", 0}, {2, "n1#1", "R6", 0}, {3, "n1#1", "R1", 1}, {4, "n3#3", "R3", 1}, {5, "n2#2", "R5", 2}} {
		n := httpapi.TreeNode{Place: p.place, Held: int64(p.place) << 18, Origin: p.parent < 0, Generation: fmt.Sprint("1/", p.place+1), Lost: p.place == 4}
		if p.place == 5 {
			n.Held = -1
		}
		n.Node, n.Source = nodeID(p.node), objectID(p.source)
		t.Nodes = append(t.Nodes, n)
	}
	parents := []int{-1, 0, 0, 1, 1, 2}
	for i, n := range t.Nodes {
		if p := parents[i]; p >= 0 {
			t.Edges = append(t.Edges, httpapi.TreeEdge{From: n.Node, To: t.Nodes[p].Node, FromPlace: i, ToPlace: p})
		}
	}
}

// A tree of two moments may have a cycle: it is drawn, and ends.
func TestDrawCycle(t *testing.T) {
	var b strings.Builder
	draw(&b, httpapi.Tree{Object: "x", Kind: "broadcast", State: "final", Nodes: []httpapi.TreeNode{{Node: "a", Complete: true}, {Node: "b", Complete: true}},
		Edges: []httpapi.TreeEdge{{From: "a", To: "b"}, {From: "b", To: "a"}, {From: "a", To: "a"}}})
	want := "x  broadcast, final, 0 B\n└─ a  complete\n   └─ b  complete\n"
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}

// onceWritten closes written after the first line.
type onceWritten struct {
	bytes.Buffer
	written chan struct{}
}

func (s *onceWritten) Write(p []byte) (int, error) {
	n, err := s.Buffer.Write(p)
	if strings.HasSuffix(s.String(), "\n") && s.written != nil {
		close(s.written)
		s.written = nil
	}
	return n, err
}

func TestEvents(t *testing.T) {
	for output, want := range map[string]string{
		"text": "03:04:05.006  node n2#2 is down (view 4): refused by two\n",
		"json": `{"event":{"node":"n2#2","view":4,"cause":"refused by two","took_ns":0},"kind":"NodeDown"}` + "\n",
	} {
		b := newBed(t)
		ctx, cancel := context.WithCancel(t.Context())
		written := make(chan struct{})
		out := &onceWritten{written: written}
		code := make(chan int, 1)
		go func() { code <- b.app("", out, io.Discard).run(ctx, []string{"events", "-o", output}) }()
		b.node.Publish(1, actors.NodeDown{Node: "n2#2", View: 4, Cause: "refused by two"})
		<-written
		cancel() // as Ctrl-C
		if c := <-code; c != 0 || out.String() != want {
			t.Errorf("%s: exit %d, %q, want %q", output, c, out.String(), want)
		}
	}
}

func TestEventOfNewerVersion(t *testing.T) {
	var out bytes.Buffer
	b := &bed{}
	if err := b.app("", &out, io.Discard).event("NodeSings", []byte(`{"song":1}`)); err != nil || !strings.Contains(out.String(), `NodeSings {"song":1}`) {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestProgressOnTerminal(t *testing.T) {
	b := newBed(t)
	var out, errs bytes.Buffer
	a := b.app(strings.Repeat("x", 100), &out, &errs)
	a.terminal = true
	if code := a.run(t.Context(), []string{"put", "-", "a"}); code != 0 || !strings.Contains(errs.String(), "put a") || strings.Contains(out.String(), "put a") {
		t.Errorf("exit %d, output %q, terminal %q", code, out.String(), errs.String())
	}
}

func TestInterruptedGet(t *testing.T) {
	b := newBed(t)
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	code := make(chan int, 1)
	var errs bytes.Buffer
	go func() { code <- b.app("", io.Discard, &errs).run(ctx, []string{"get", "later", "f", "--wait", "1h"}) }()
	b.node.AwaitOpen()
	cancel()
	if c := <-code; c != 130 || !strings.Contains(errs.String(), "interrupted") {
		t.Errorf("exit %d, %q", c, errs.String())
	}
}

func TestNoNode(t *testing.T) {
	server := httptest.NewServer(nil)
	addr := server.Listener.Addr().String()
	server.Close()
	for _, args := range [][]string{{"put", "-", "a"}, {"get", "a", "-"}, {"rm", "a"}, {"ls"}, {"stat", "a"}, {"prefetch", "a"},
		{"reduce", "t", "a"}, {"status"}, {"events"}, {"tree", "a"}, {"workflow", "ls"}, {"workflow", "status", "a"}, {"workflow", "wait", "a"}, {"workflow", "cancel", "a"},
		{"workflow", "resume", "a"}, {"workflow", "signal", "a", "b"}, {"workflow", "rm", "a"}, {"workflow", "history", "a"}, {"workflow", "graph", "a"}, {"workflow", "ledger"}} {
		b := &bed{environ: []string{"PHALANX_ADDR=" + addr}, addr: "http://" + addr}
		got := b.run(t, "", args...)
		if !strings.Contains(got, "no node answers at http://ADDR; start one with `phalanx dev` or give --addr") || !strings.HasSuffix(got, "exit 8\n") {
			t.Errorf("%v: %s", args, got)
		}
	}
}

// Every command says by an example how it is used, and belongs somewhere.
func TestHelp(t *testing.T) {
	root := (&bed{}).app("", io.Discard, io.Discard).root()
	for _, c := range root.Commands() {
		if c.Runnable() && c.Name() != "version" && c.Name() != "help" && c.Name() != "completion" && (c.Example == "" || c.GroupID == "") {
			t.Errorf("%s: example %q, group %q", c.Name(), c.Example, c.GroupID)
		}
		if c.Short == "" {
			t.Errorf("%s says nothing", c.Name())
		}
	}
	b := newBed(t)
	help := b.run(t, "", "help", "exit-codes")
	for _, o := range httpapi.Outcomes() {
		if !strings.Contains(help, o.Meaning) {
			t.Errorf("help exit-codes does not tell of %v", o.Kind)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if got := b.run(t, "", "completion", shell); !strings.Contains(got, "phalanx") || strings.Contains(got, "exit") && strings.HasSuffix(got, "exit 2\n") {
			t.Errorf("completion %s: %.200s", shell, got)
		}
	}
}

func TestCompletesIDs(t *testing.T) {
	b := newBed(t)
	for _, id := range []string{"grad/1", "grad/2", "model"} {
		b.run(t, "x", "put", "-", id)
	}
	got := strings.Split(b.run(t, "", "__complete", "stat", "grad/"), "\n")
	if !slices.Equal(got[:2], []string{"grad/1", "grad/2"}) {
		t.Errorf("%q", got)
	}
}

// An error of each kind, from the node, becomes its exit code.
func TestExitCodes(t *testing.T) {
	b := newBed(t)
	for _, o := range httpapi.Outcomes() {
		b.node.Fail = failure(o.Kind)
		text := b.run(t, "", "stat", "a")
		want := fmt.Sprintf("error| phalanx: stat \"a\" (node n2#2): %v: because\nexit %d\n", o.Kind, o.Exit)
		if text != want {
			t.Errorf("%s\nwant\n%s", text, want)
		}
		json := b.run(t, "", "stat", "a", "-o", "json")
		want = fmt.Sprintf(`error| {"error":{"kind":%q,"op":"stat","object":"a","node":"n2#2","message":"because","exit":%d}}`+"\nexit %d\n", o.Kind.Error(), o.Exit, o.Exit)
		if json != want {
			t.Errorf("%s\nwant\n%s", json, want)
		}
	}
}

func TestIDsThatCannotBe(t *testing.T) {
	b := newBed(t)
	for id, want := range map[string]string{"": `phalanx: stat: invalid: the object id is empty`, "a\x01b": `phalanx: stat "a\\x01b": invalid: the object id has the unprintable character U+0001 at byte 1`} {
		if got := b.run(t, "", "stat", id); got != "error| "+want+"\nexit 2\n" {
			t.Errorf("%q: %s", id, got)
		}
	}
	if got := b.run(t, "", "--version"); got != "phalanx "+cluster.Version+"\n" {
		t.Errorf("--version: %s", got)
	}
}

// A word where there is no command or topic of that name is an error.
func TestUnknownCommands(t *testing.T) {
	b := newBed(t)
	for _, args := range [][]string{{"frobnicate"}, {"config", "set", "memory", "3"}, {"help", "frobnicate"}, {"help", "config", "set"}} {
		must(t, b.run(t, "", args...), "invalid: ", "; see `phalanx ", "exit 2\n")
	}
	if got := b.run(t, "", "help", "config", "show"); !strings.Contains(got, "Show prints every setting") || strings.Contains(got, "exit") {
		t.Error(got)
	}
}
