package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

// members starts k nodes of one cluster, which log warnings.
func members(t *testing.T, k int) (nodes []*daemon, up []ready) {
	t.Helper()
	notShort(t)
	for i := range k {
		args := nodeArgs(fmt.Sprint("n", i+1), "64MB", "--log-level=warning")
		if i > 0 {
			args = append(args, "--seeds="+up[0].Control)
		}
		var r ready
		d := start(t, args...)
		d.line(t, &r)
		nodes, up = append(nodes, d), append(up, r)
	}
	return nodes, up
}

// follow returns what the node at an address tells of the majority from now on.
func follow(t *testing.T, addr string) <-chan actors.Event {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, addr+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(res.Body)
	if !lines.Scan() { // a comment
		t.Fatalf("%s has no events: %v", addr, lines.Err())
	}
	out := make(chan actors.Event, 100)
	go func() {
		defer close(out)
		defer res.Body.Close()
		for kind := ""; lines.Scan(); {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && strings.HasPrefix(kind, "Majority") {
				if e, err := actors.Decode(kind, []byte(data)); err == nil {
					out <- e
				}
			}
			kind, _ = strings.CutPrefix(lines.Text(), "event: ")
		}
	}()
	return out
}

// next returns what is told next.
func next(t *testing.T, who ready, events <-chan actors.Event) actors.Event {
	t.Helper()
	select {
	case e := <-events:
		return e
	case <-time.After(30 * time.Second):
		t.Fatalf("%s tells nothing", who.Node)
		return nil
	}
}

// isReady asks a node whether it is ready, or why not.
func isReady(t *testing.T, r ready) (bool, httpapi.ErrorInfo) {
	t.Helper()
	res, err := http.Get(r.HTTP + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var body struct{ Error httpapi.ErrorInfo }
	if res.StatusCode == http.StatusOK {
		return true, body.Error
	}
	if err := json.Unmarshal(data, &body); err != nil || res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("%s: %s %s", r.Node, res.Status, data)
	}
	return false, body.Error
}

// signalAll sends a signal to nodes.
func signalAll(t *testing.T, s syscall.Signal, nodes ...*daemon) {
	t.Helper()
	for _, d := range nodes {
		if err := d.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
}

// Two of three voters are killed at once. The others tell it, everywhere where one looks.
func TestMostVotersAreKilled(t *testing.T) {
	nodes, up := members(t, 5)
	st, err := client(t, up[4].HTTP).Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := []phalanx.NodeID{up[0].Node, up[1].Node, up[2].Node}; !slices.Equal(st.Voters, want) || st.MajorityLost || st.Unready != nil {
		t.Fatalf("%+v, want the voters %v", st, want)
	}
	missing := st.Voters[:2]
	var events []<-chan actors.Event
	for _, r := range up[2:] {
		events = append(events, follow(t, r.HTTP))
	}
	began := time.Now()
	signalAll(t, syscall.SIGKILL, nodes[:2]...)
	for i, r := range up[2:] {
		if lost, ok := next(t, r, events[i]).(actors.MajorityLost); !ok || !slices.Equal(lost.Missing, missing) {
			t.Errorf("%s tells %+v, missing are %v", r.Node, lost, missing)
		}
	}
	t.Logf("all were told after %v", time.Since(began))
	for _, r := range up[2:] {
		if is, why := isReady(t, r); is || why.Kind != phalanx.ErrUnavailable.Error() || !strings.Contains(why.Message, string(missing[0])) || !strings.Contains(why.Message, string(missing[1])) {
			t.Errorf("%s is ready: %v, %+v", r.Node, is, why)
		}
		if !strings.Contains(string(fetch(t, r.HTTP+"/metrics")), "phalanx_majority_lost 1\n") {
			t.Errorf("the metrics of %s do not tell it", r.Node)
		}
		st, err := client(t, r.HTTP).Status(t.Context())
		if err != nil || !st.MajorityLost || st.Unready == nil || !slices.Equal(st.MissingVoters, missing) {
			t.Errorf("%s: %+v, %v", r.Node, st, err)
		}
		b := &bed{addr: r.HTTP, environ: []string{"PHALANX_ADDR=" + r.HTTP}}
		said := b.run(t, "", "status")
		must(t, said, "NOT READY", "the majority of the voters is lost", "run phalanx recover", string(missing[0]), string(missing[1]))
		if strings.Count(said, "voter, missing") != 2 {
			t.Errorf("%s: status says %s", r.Node, said)
		}
		must(t, b.run(t, "", "stat", "x", "--timeout=1s"), "the majority of the voters is lost", string(missing[0]), string(missing[1]))
	}
	for i, d := range nodes[2:] {
		_ = d.Process.Kill()
		_ = d.Wait() // it was killed
		if k := strings.Count(d.errs.String(), "the majority of the voters is lost"); k != 1 {
			t.Errorf("%s has logged it %d times: %s", up[2+i].Node, k, d.errs)
		}
	}
}

// One voter after the other that hangs is no loss of the majority. Two at once are; when they
// go on, all others tell that the majority is found, and go on.
func TestMostVotersHangAndGoOn(t *testing.T) {
	nodes, up := members(t, 5)
	var events []<-chan actors.Event
	for _, r := range up {
		events = append(events, follow(t, r.HTTP))
	}
	looks := client(t, up[4].HTTP)
	voters := func() []phalanx.NodeID {
		st, err := looks.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return st.Voters
	}
	signalAll(t, syscall.SIGSTOP, nodes[0])
	until(t, "the voter that hangs is replaced", func() bool { return !slices.Contains(voters(), up[0].Node) })
	signalAll(t, syscall.SIGCONT, nodes[0])
	until(t, "it has joined again", func() bool {
		st, err := client(t, up[0].HTTP).Status(t.Context())
		return err == nil && st.Node != up[0].Node
	})
	for i, says := range events {
		select {
		case e := <-says:
			t.Errorf("%s tells %+v", up[i].Node, e)
		default:
		}
	}
	until(t, "three vote", func() bool { return len(voters()) == 3 })
	hang := voters()[:2]
	if want := []phalanx.NodeID{up[1].Node, up[2].Node}; !slices.Equal(hang, want) {
		t.Fatalf("the voters are %v", voters())
	}
	began := time.Now()
	signalAll(t, syscall.SIGSTOP, nodes[1], nodes[2])
	rest := []int{0, 3, 4}
	for _, i := range rest {
		if lost, ok := next(t, up[i], events[i]).(actors.MajorityLost); !ok || !slices.Equal(lost.Missing, hang) {
			t.Errorf("%s tells %+v, missing are %v", up[i].Node, lost, hang)
		}
	}
	t.Logf("all were told after %v", time.Since(began))
	if is, why := isReady(t, up[3]); is || why.Kind != phalanx.ErrUnavailable.Error() {
		t.Errorf("it is ready: %v, %+v", is, why)
	}
	began = time.Now()
	signalAll(t, syscall.SIGCONT, nodes[1], nodes[2])
	for _, i := range rest {
		if e, ok := next(t, up[i], events[i]).(actors.MajorityFound); !ok || e.Took <= 0 {
			t.Errorf("%s tells %+v", up[i].Node, e)
		}
		if is, why := isReady(t, up[i]); !is {
			t.Errorf("%s is not ready: %+v", up[i].Node, why)
		}
		if !strings.Contains(string(fetch(t, up[i].HTTP+"/metrics")), "phalanx_majority_lost 0\n") {
			t.Errorf("the metrics of %s do not tell it", up[i].Node)
		}
	}
	t.Logf("all were told that it is found after %v", time.Since(began))
	if _, err := looks.Put(t.Context(), "a", bytes.NewReader([]byte("bytes")), 5, httpapi.PutOptions{}); err != nil {
		t.Error(err)
	}
	for _, i := range rest {
		_ = nodes[i].Process.Kill()
		_ = nodes[i].Wait() // it was killed
		for _, line := range []string{"the majority of the voters is lost", "the majority of the voters is found"} {
			if k := strings.Count(nodes[i].errs.String(), line); k != 1 {
				t.Errorf("%s has logged %q %d times: %s", up[i].Node, line, k, nodes[i].errs)
			}
		}
	}
}
