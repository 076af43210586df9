package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

// nodeArgs are those of a node that listens where there is room.
func nodeArgs(name, memory string, more ...string) []string {
	return append([]string{"node", "-o", "json", "--control-port=0", "--data-port=0", "--http=127.0.0.1:0", "--name=" + name, "--memory=" + memory, "--log-level=error"}, more...)
}

// A node is asked to end while it is being put to. Everything that it
// has acknowledged is there when it has ended.
func TestTerminatedWhileItIsPutTo(t *testing.T) {
	var nodes []*daemon
	var at []ready
	for i := range 3 {
		args := nodeArgs(fmt.Sprint("n", i), "256MB")
		if i > 0 {
			args = append(args, "--seeds="+at[0].Control)
		}
		var r ready
		d := start(t, args...)
		d.line(t, &r)
		nodes, at = append(nodes, d), append(at, r)
	}
	var mu sync.Mutex
	var ok []string
	enough := make(chan struct{})
	var writers sync.WaitGroup
	for k := range 3 {
		c := client(t, at[2].HTTP)
		writers.Go(func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("x/%d/%d", k, i)
				data := bytes.Repeat([]byte(id), 20_000)
				if _, err := c.Put(t.Context(), phalanx.ObjectID(id), bytes.NewReader(data), int64(len(data)), httpapi.PutOptions{}); err != nil {
					return
				}
				mu.Lock()
				if ok = append(ok, id); len(ok) == 30 {
					close(enough)
				}
				mu.Unlock()
			}
		})
	}
	<-enough
	nodes[2].interrupt(t, syscall.SIGTERM)
	writers.Wait()
	for _, id := range ok {
		if got := fetch(t, at[0].HTTP+"/v1/objects/"+id); !bytes.Equal(got, bytes.Repeat([]byte(id), 20_000)) {
			t.Errorf("%s has other bytes", id)
		}
	}
	nodes[1].interrupt(t, syscall.SIGTERM)
	nodes[0].interrupt(t, syscall.SIGTERM)
}

// A node whose objects nobody has room for says so and goes on. It ends when they are
// handed over or deleted, or when it is interrupted once more.
func TestTerminatedAndNobodyHasRoom(t *testing.T) {
	for _, again := range []bool{false, true} {
		var first, second ready
		small := start(t, nodeArgs("small", "16MB")...)
		small.line(t, &first)
		cmd := exec.CommandContext(t.Context(), program, nodeArgs("large", "128MB", "--leave-timeout=1s", "--seeds="+first.Control)...)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		errs, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		large := &daemon{Cmd: cmd, out: bufio.NewReader(out), errs: &errOutput{}}
		large.line(t, &second)
		data := random(30 << 20)
		if _, err := client(t, second.HTTP).Put(t.Context(), "big", bytes.NewReader(data), int64(len(data)), httpapi.PutOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		for said := bufio.NewScanner(errs); ; {
			if !said.Scan() {
				t.Fatal("it ended and did not say what remains")
			}
			if strings.Contains(said.Text(), "was not handed over") && strings.Contains(said.Text(), "big") {
				break
			}
		}
		if again {
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		} else if err := client(t, first.HTTP).Delete(t.Context(), "big", time.Minute); err != nil {
			t.Fatal(err)
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); again != errors.As(err, &exit) {
			t.Errorf("interrupted again: %v, it ended with %v", again, err)
		}
		_ = small.Process.Kill()
		_ = small.Wait()
	}
}

// A node is asked to end while it is being put to by a client that sends no more. The client
// hears that the node leaves, and of which object.
func TestTerminatedWhileAnUploadStalls(t *testing.T) {
	var first, second ready
	start(t, nodeArgs("n0", "64MB")...).line(t, &first)
	d := start(t, nodeArgs("n1", "64MB", "--leave-timeout=2s", "--seeds="+first.Control)...)
	d.line(t, &second)
	conn, err := net.Dial("tcp", strings.TrimPrefix(second.HTTP, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "PUT /v1/objects/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\nbegin")
	for fetchStatus(t, first.HTTP+"/v1/stat/x") != http.StatusOK { // until the Put runs
	}
	if err := d.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if said := string(body); err != nil || res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Phalanx-Error") != "closed" ||
		!strings.Contains(said, `"object":"x"`) || !strings.Contains(said, string(second.Node)) {
		t.Errorf("%s, %s, %v", res.Status, body, err)
	}
	if err := d.Wait(); err != nil {
		t.Error(err)
	}
}

func fetchStatus(t *testing.T, url string) int {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}
