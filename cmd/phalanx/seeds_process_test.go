package main

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx/internal/httpapi"
)

// freePorts returns ports that were free a moment ago.
func freePorts(t *testing.T, n int) (ports []string) {
	t.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		_, port, _ := net.SplitHostPort(l.Addr().String())
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
