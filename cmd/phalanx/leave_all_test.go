package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

// threeSeeds starts three nodes that name each other as seeds, each with an object.
func threeSeeds(t *testing.T, more ...string) (nodes []*daemon, up []ready) {
	t.Helper()
	notShort(t)
	ports := freePorts(t, 3)
	seeds := "--seeds=127.0.0.1:" + strings.Join(ports, ",127.0.0.1:")
	for i, p := range ports {
		args := append([]string{"node", "-o", "json", "--control-port=" + p, "--data-port=0", "--http=127.0.0.1:0", "--memory=64MB", "--log-level=warning",
			fmt.Sprint("--name=n", i+1), seeds}, more...)
		nodes = append(nodes, start(t, args...))
	}
	for i, d := range nodes {
		var r ready
		d.line(t, &r)
		up = append(up, r)
		data := bytes.Repeat([]byte{byte(i)}, 100_000)
		if _, err := client(t, r.HTTP).Put(t.Context(), phalanx.ObjectID(fmt.Sprint("x", i+1)), bytes.NewReader(data), int64(len(data)), httpapi.PutOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return nodes, up
}

// endsWell waits for the end of nodes, and checks that it comes soon and is a success.
func endsWell(t *testing.T, nodes ...*daemon) {
	t.Helper()
	for _, d := range nodes {
		stays := time.AfterFunc(25*time.Second, func() { _ = d.Process.Kill() })
		_, _ = io.Copy(io.Discard, d.out)
		if err := d.Wait(); err != nil {
			t.Errorf("%v\n%s", err, d.errs)
		}
		stays.Stop()
	}
}

// All nodes are asked to end at once, as a supervisor does that stops a service. Each ends soon and
// well, and says which objects are lost.
func TestAllAreTerminatedAtOnce(t *testing.T) {
	for range 6 {
		nodes, _ := threeSeeds(t)
		signalAll(t, syscall.SIGTERM, nodes...)
		endsWell(t, nodes...)
		said := ""
		for _, d := range nodes {
			said += d.errs.String()
		}
		must(t, said, "objects that only this node had are lost", "x1", "x2", "x3")
	}
}

// Two of three nodes are killed. The third is asked to end, and does soon.
func TestTerminatedWhenAllOthersAreGone(t *testing.T) {
	nodes, _ := threeSeeds(t)
	signalAll(t, syscall.SIGKILL, nodes[:2]...)
	signalAll(t, syscall.SIGTERM, nodes[2])
	endsWell(t, nodes[2])
	must(t, nodes[2].errs.String(), "objects that only this node had are lost", "x3")
}

// A node that was removed while it hung cannot join again, since the majority of the voters is lost. It
// is asked to end, and does within its time to leave.
func TestTerminatedWhenItCannotJoinAgain(t *testing.T) {
	nodes, up := threeSeeds(t, "--leave-timeout=3s")
	signalAll(t, syscall.SIGSTOP, nodes[2])
	var voters []phalanx.NodeID
	until(t, "it is removed", func() bool {
		st, err := client(t, up[0].HTTP).Status(t.Context())
		voters = st.Voters
		return err == nil && len(st.Members) == 2 && len(voters) == 1
	})
	signalAll(t, syscall.SIGKILL, nodes[slices.IndexFunc(up, func(r ready) bool { return r.Node == voters[0] })])
	signalAll(t, syscall.SIGCONT, nodes[2])
	until(t, "it hears that it was removed", func() bool { return strings.Contains(nodes[2].errs.String(), "the cluster has removed this node") })
	signalAll(t, syscall.SIGTERM, nodes[2])
	_, _ = io.Copy(io.Discard, nodes[2].out)
	_ = nodes[2].Wait()
	must(t, nodes[2].errs.String(), "it handed nothing over", "x3")
	if code := nodes[2].ProcessState.ExitCode(); code != httpapi.ExitCode(&phalanx.Error{Kind: phalanx.ErrFenced}) {
		t.Errorf("exit %d\n%s", code, nodes[2].errs)
	}
}

// A second SIGINT or SIGTERM ends a node at once that cannot leave yet, also if SIGINT was ignored
// when it was started, as in the background of a script.
func TestASecondSignalEndsANode(t *testing.T) {
	notShort(t)
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		var first, second ready
		start(t, nodeArgs("n0", "64MB")...).line(t, &first)
		d := startIgnoring(t, nodeArgs("n1", "64MB", "--leave-timeout=10m", "--seeds="+first.Control)...)
		d.line(t, &second)
		conn, err := net.Dial("tcp", strings.TrimPrefix(second.HTTP, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprint(conn, "PUT /v1/objects/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\nbegin")
		until(t, "the Put runs", func() bool { return fetchStatus(t, first.HTTP+"/v1/stat/x") == http.StatusOK })
		signalAll(t, s, d)
		until(t, "it leaves", func() bool {
			st, err := client(t, first.HTTP).Status(t.Context())
			return err == nil && slices.ContainsFunc(st.Members, func(m httpapi.Member) bool { return m.Leaving })
		})
		signalAll(t, s, d)
		_ = d.Wait()
		if code := d.ProcessState.ExitCode(); code != 128+int(s) {
			t.Errorf("after a second %v: exit %d\n%s", s, code, d.errs)
		}
	}
}

// startIgnoring is start with SIGINT ignored.
func startIgnoring(t *testing.T, args ...string) *daemon {
	t.Helper()
	script := []string{"-c", `trap "" INT; exec "$@"`, "sh", program}
	return startProgram(t, "sh", append(script, args...)...)
}
