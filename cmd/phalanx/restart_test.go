package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/phalanx-go/phalanx"
)

// flagged are nodes that are given one set of seeds, and fixed ports, so that each can be
// killed and started again with its own flags.
type flagged struct {
	control []string
	http    []string
	seeds   int
	nodes   []*daemon
	up      []ready
}

// startFlagged starts n nodes, of which the first few are the seeds.
func startFlagged(t *testing.T, n, seeds int) *flagged {
	t.Helper()
	notShort(t)
	ports := freePorts(t, 2*n)
	f := &flagged{control: ports[:n], http: ports[n:], seeds: seeds, nodes: make([]*daemon, n), up: make([]ready, n)}
	for i := range n {
		f.start(t, i)
		if i >= seeds-1 { // the seeds need each other
			for k := range i + 1 {
				f.ready(t, k)
			}
		}
	}
	return f
}

func (f *flagged) start(t *testing.T, i int, more ...string) {
	t.Helper()
	var seeds []string
	for _, p := range f.control[:f.seeds] {
		seeds = append(seeds, "127.0.0.1:"+p)
	}
	f.nodes[i] = start(t, append([]string{"node", "-o", "json", "--memory=64MB", "--log-level=warning", "--data-port=0", "--http=127.0.0.1:" + f.http[i], fmt.Sprint("--name=n", i+1),
		"--control-port=" + f.control[i], "--seeds=" + strings.Join(seeds, ",")}, more...)...)
	f.up[i] = ready{HTTP: "http://127.0.0.1:" + f.http[i]}
}

// ready waits until a node has joined.
func (f *flagged) ready(t *testing.T, i int) {
	t.Helper()
	if f.up[i].Node == "" {
		f.nodes[i].line(t, &f.up[i])
	}
}

func (f *flagged) kill(t *testing.T, nodes ...int) {
	t.Helper()
	for _, i := range nodes {
		signalAll(t, syscall.SIGKILL, f.nodes[i])
	}
	for _, i := range nodes {
		_ = f.nodes[i].Wait() // it was killed
	}
}

// unready returns why a node is not ready, or "".
func (f *flagged) unready(i int) string {
	res, err := http.Get(f.up[i].HTTP + "/readyz")
	if err != nil {
		return err.Error()
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode == http.StatusOK {
		return ""
	}
	return string(body)
}

// formAnew has the fourth node form the cluster anew from the three that live.
func (f *flagged) formAnew(t *testing.T) {
	t.Helper()
	said := f.recover(t, 3)
	if strings.Contains(said, "hears the majority") {
		t.Skip("the cluster has replaced one voter before the other one died")
	}
	must(t, said, "formed anew", "3 members")
}

// waits waits until a node says that it waits for a cluster that has lost its majority.
func (f *flagged) waits(t *testing.T, i int) {
	t.Helper()
	until(t, "it says what it waits for", func() bool {
		why := f.unready(i)
		if why == "" {
			t.Skip("the cluster has replaced one voter before the other one died")
		}
		return strings.Contains(why, "phalanx recover")
	})
}

// together waits until all nodes are ready members of one cluster.
func (f *flagged) together(t *testing.T) {
	t.Helper()
	for i := range f.nodes {
		f.ready(t, i)
	}
	for _, r := range f.up {
		until(t, "all are members of one cluster", func() bool {
			st, err := client(t, r.HTTP).Status(t.Context())
			return err == nil && st.Unready == nil && len(st.Members) == len(f.nodes)
		})
	}
}

func (f *flagged) recover(t *testing.T, i int, args ...string) string {
	b := &bed{addr: f.up[i].HTTP, environ: []string{"PHALANX_ADDR=" + f.up[i].HTTP}}
	return b.run(t, "", append([]string{"recover"}, args...)...)
}

// Two of three voters among five nodes are killed and started again with their flags. They do
// not bring the majority back: they wait, and say which command does. After it all five are
// members again.
func TestMostVotersStartAgain(t *testing.T) {
	f := startFlagged(t, 5, 3)
	voters := map[phalanx.NodeID]bool{}
	until(t, "three vote", func() bool {
		st, err := client(t, f.up[4].HTTP).Status(t.Context())
		for _, v := range st.Voters {
			voters[v] = true
		}
		return err == nil && len(st.Voters) == 3
	})
	if !voters[f.up[0].Node] || !voters[f.up[1].Node] {
		t.Fatalf("the voters are %v", voters)
	}
	f.kill(t, 0, 1)
	f.start(t, 0)
	f.start(t, 1, "--join-timeout=12s")
	for _, i := range []int{0, 1} {
		f.waits(t, i)
		must(t, f.unready(i), "joining", "admits no node", "n1#", "n2#")
	}
	for _, i := range []int{2, 3, 4} {
		until(t, "it says that the majority is lost", func() bool { return strings.Contains(f.unready(i), "the majority of the voters is lost") })
	}
	err := f.nodes[1].Wait()
	if code := f.nodes[1].ProcessState.ExitCode(); code != 8 {
		t.Errorf("exit %d: %v", code, err)
	}
	must(t, f.nodes[1].errs.String(), "not ready yet: joining", `"kind":"unavailable"`, "phalanx recover")
	must(t, f.nodes[0].errs.String(), "not ready yet: joining", "phalanx recover")
	must(t, f.nodes[3].errs.String(), "the majority of the voters is lost", "also if they are started again", "phalanx recover")

	f.start(t, 1)
	f.formAnew(t)
	f.together(t)
}

// An object that was put with three copies is there after two of five nodes were killed and
// started again, and the cluster was formed anew.
func TestCopiesAfterMostVotersStartAgain(t *testing.T) {
	f := startFlagged(t, 5, 3)
	data := strings.Repeat("bytes", 50_000)
	for i := range f.up {
		write(t, f.up[i], phalanx.ObjectID(fmt.Sprint("small/", i)), fmt.Sprint(i), 3)
		write(t, f.up[i], phalanx.ObjectID(fmt.Sprint("large/", i)), data, 3)
	}
	f.kill(t, 0, 1)
	f.start(t, 0)
	f.start(t, 1)
	f.waits(t, 0)
	f.formAnew(t)
	f.together(t)
	for i := range f.up {
		for k := range f.up {
			if got := read(t, f.up[i], phalanx.ObjectID(fmt.Sprint("small/", k))); got != fmt.Sprint(k) {
				t.Errorf("%s has %q", f.up[i].Node, got)
			}
			if got := read(t, f.up[i], phalanx.ObjectID(fmt.Sprint("large/", k))); got != data {
				t.Errorf("%s has %d bytes", f.up[i].Node, len(got))
			}
		}
	}
}

// All seeds are killed and started again with their flags, while two other nodes live: they
// begin no second cluster, but wait and say which command does. After it all five are members
// of the old one.
func TestAllSeedsStartAgain(t *testing.T) {
	f := startFlagged(t, 5, 3)
	data := strings.Repeat("bytes", 50_000)
	write(t, f.up[0], "small", "few bytes", 4)
	write(t, f.up[1], "large", data, 4)
	f.kill(t, 0, 1, 2)
	for i := range 3 {
		f.start(t, i)
	}
	for i := range 3 {
		until(t, "it says what it waits for", func() bool { return strings.Contains(f.unready(i), "phalanx recover") })
		must(t, f.unready(i), "joining", "member 127.0.0.1:", "admits no node")
	}
	must(t, f.recover(t, 3, "--force"), "formed anew", "2 members")
	f.together(t)
	for _, r := range f.up {
		if small, large := read(t, r, "small"), read(t, r, "large"); small != "few bytes" || large != data {
			t.Errorf("%s has %q and %d bytes", r.Node, small, len(large))
		}
	}
}

// The only seed is killed and started again with its flags: it finds the others, which go on.
func TestTheOnlySeedStartsAgain(t *testing.T) {
	f := startFlagged(t, 3, 1)
	write(t, f.up[0], "x", "few bytes", 3)
	f.kill(t, 0)
	f.start(t, 0)
	f.together(t)
	if got := read(t, f.up[0], "x"); got != "few bytes" {
		t.Errorf("it has %q", got)
	}
}
