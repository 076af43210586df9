package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

// freePorts returns ports that were free a moment ago.
func freePorts(t *testing.T, n int) (ports []string) {
	t.Helper()
	for tries := 0; len(ports) < n; tries++ {
		port := fmt.Sprint(20_000 + rand.IntN(10_000)) // below those that systems give to connections
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			if tries > 100*n {
				t.Fatal(err)
			}
			continue
		}
		defer l.Close()
		ports = append(ports, port)
	}
	return ports
}

// Three nodes have one set of flags but for their names and ports. Started at once they are
// one cluster. Each that is killed, the first too, and started again with its own flags comes
// back into it.
func TestOneSetOfFlags(t *testing.T) {
	ports := freePorts(t, 3)
	var seeds []string
	for _, p := range ports {
		seeds = append(seeds, "127.0.0.1:"+p)
	}
	flags := func(i int) []string {
		return []string{"node", "-o", "json", "--memory=64MB", "--log-level=error", "--data-port=0", "--http=127.0.0.1:0",
			fmt.Sprint("--name=n", i), "--control-port=" + ports[i], "--seeds=" + strings.Join(seeds, ",")}
	}
	var nodes [3]*daemon
	var up [3]ready
	for i := range nodes {
		nodes[i] = start(t, flags(i)...)
	}
	for i := range nodes {
		nodes[i].line(t, &up[i])
	}
	h := client(t, up[0].HTTP)
	if _, err := h.Put(t.Context(), "a", strings.NewReader("bytes"), 5, httpapi.PutOptions{Copies: 3}); err != nil {
		t.Fatal(err)
	}
	for i := range nodes {
		if err := nodes[i].Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = nodes[i].Wait() // it was killed
		nodes[i] = start(t, flags(i)...)
		nodes[i].line(t, &up[i])
		if got := string(fetch(t, up[i].HTTP+"/v1/objects/a")); got != "bytes" {
			t.Errorf("node %d has %q", i, got)
		}
	}
}

// One of three seeds waits, and its error says for which.
func TestASeedWaitsForTheOthers(t *testing.T) {
	ports := freePorts(t, 3)
	d := start(t, "node", "-o", "json", "--memory=64MB", "--http=off", "--name=n1", "--data-port=0", "--control-port="+ports[0], "--join-timeout=3s",
		"--seeds=127.0.0.1:"+ports[0]+",127.0.0.1:"+ports[1]+",127.0.0.1:"+ports[2])
	if err := d.Wait(); err == nil {
		t.Fatal("it has begun a cluster")
	}
	for _, p := range ports[1:] {
		if !strings.Contains(d.errs.String(), "127.0.0.1:"+p) {
			t.Errorf("%s is missing in %s", p, d.errs)
		}
	}
}

// A seed that waits for another one says so from the beginning: to HTTP at once, whatever is
// asked, and in its log. Once it is a member the same address serves.
func TestHTTPOfANodeThatJoins(t *testing.T) {
	ports := freePorts(t, 4)
	address := "http://127.0.0.1:" + ports[3]
	seeds := fmt.Sprintf("--seeds=127.0.0.1:%s,127.0.0.1:%s,127.0.0.1:%s", ports[0], ports[1], ports[2])
	d := start(t, "node", "-o", "json", "--memory=64MB", "--http=127.0.0.1:"+ports[3], "--name=n1", "--data-port=0", "--control-port="+ports[0], seeds)
	short := http.Client{Timeout: 5 * time.Second}
	ask := func(method, path string) (status int, body string) {
		req, err := http.NewRequestWithContext(t.Context(), method, address+path, strings.NewReader("bytes"))
		if err != nil {
			t.Fatal(err)
		}
		res, err := short.Do(req)
		if err != nil {
			return 0, err.Error()
		}
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		if err != nil {
			t.Error(err)
		}
		return res.StatusCode, string(data)
	}
	until(t, "it says that it lives", func() bool { status, _ := ask("GET", "/livez"); return status == http.StatusOK })
	until(t, "it has asked the seeds", func() bool { _, body := ask("GET", "/readyz"); return strings.Contains(body, "refused") })
	for _, path := range []string{"GET /readyz", "GET /v1/status", "GET /metrics", "GET /v1/events", "GET /v1/objects/a", "PUT /v1/objects/a", "POST /v1/recover"} {
		method, path, _ := strings.Cut(path, " ")
		status, body := ask(method, path)
		var told struct{ Error httpapi.ErrorInfo }
		if err := json.Unmarshal([]byte(body), &told); err != nil || status != http.StatusServiceUnavailable || told.Error.Kind != phalanx.ErrUnavailable.Error() {
			t.Errorf("%s %s: %d %s", method, path, status, body)
		}
		must(t, told.Error.Message, "joining, waiting for the seeds 127.0.0.1:"+ports[1]+", 127.0.0.1:"+ports[2], "seed 127.0.0.1:"+ports[0]+" is this node")
	}
	b := &bed{addr: address, environ: []string{"PHALANX_ADDR=" + address}}
	must(t, b.run(t, "", "status"), "waiting for the seeds", "exit 8")
	line := ""
	until(t, "its log says what it waits for", func() bool {
		line = d.errs.String()
		return strings.Contains(line, "not ready yet")
	})
	must(t, line, "waiting for the seeds 127.0.0.1:"+ports[1]+", 127.0.0.1:"+ports[2])
	other := start(t, "node", "-o", "json", "--memory=64MB", "--http=off", "--name=n2", "--data-port=0", "--control-port="+ports[1], seeds)
	var r ready
	other.line(t, &r)
	d.line(t, &r)
	if status, body := ask("GET", "/readyz"); status != http.StatusOK || r.HTTP != address {
		t.Errorf("%d %s, %s", status, body, r.HTTP)
	}
	if status, body := ask("PUT", "/v1/objects/a"); status != http.StatusCreated {
		t.Errorf("%d %s", status, body)
	}
	d.interrupt(t, syscall.SIGTERM)
	if text := d.errs.String(); strings.Count(text, "not ready yet") != 1 {
		t.Errorf("it has logged %s", text)
	}
}

// A node that is ended while it joins ends at once, and its HTTP as well.
func TestInterruptWhileItJoins(t *testing.T) {
	ports := freePorts(t, 2)
	d := start(t, "node", "--memory=64MB", "--http=127.0.0.1:"+ports[1], "--name=n1", "--data-port=0", "--control-port=0", "--seeds=127.0.0.1:"+ports[0])
	until(t, "it says that it lives", func() bool {
		res, err := http.Get("http://127.0.0.1:" + ports[1] + "/livez")
		if err != nil {
			return false
		}
		return res.Body.Close() == nil
	})
	signalAll(t, syscall.SIGTERM, d)
	err := d.Wait()
	if code := d.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit %d: %v, %s", code, err, d.errs)
	}
}
