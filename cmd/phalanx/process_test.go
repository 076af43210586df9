package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

// program is the path of this program, built for the tests that run it.
var program string

func TestMain(m *testing.M) { os.Exit(build(m)) }

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "phalanx")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "phalanx")
	args := []string{"build", "-o", program}
	if raceDetector {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, ".")...).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// notShort leaves out of a short run what starts many processes.
func notShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("not in a short run: many processes")
	}
}

// daemon is a running program.
type daemon struct {
	*exec.Cmd
	out  *bufio.Reader
	errs *errOutput
}

// errOutput can be read while it is written.
type errOutput struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (o *errOutput) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.Write(b)
}

func (o *errOutput) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.all.String()
}

// start runs the program; what it prints is read line by line.
func start(t *testing.T, args ...string) *daemon {
	t.Helper()
	return startProgram(t, program, args...)
}

// startProgram is start with another program.
func startProgram(t *testing.T, name string, args ...string) *daemon {
	t.Helper()
	return startIn(t, clean(os.Environ()), name, args...)
}

// startIn is startProgram in another environment.
func startIn(t *testing.T, environ []string, name string, args ...string) *daemon {
	t.Helper()
	d := &daemon{Cmd: exec.CommandContext(t.Context(), name, args...), errs: &errOutput{}}
	d.Env = environ
	d.Stderr = d.errs
	out, err := d.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	d.out = bufio.NewReader(out)
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Process.Kill() })
	return d
}

// clean leaves out what would change the program's settings.
func clean(environ []string) []string {
	var kept []string
	for _, v := range environ {
		if !strings.HasPrefix(v, envPrefix) {
			kept = append(kept, v)
		}
	}
	return kept
}

// line decodes the next line that d prints.
func (d *daemon) line(t *testing.T, v any) {
	t.Helper()
	text, err := d.out.ReadString('\n')
	if err == nil {
		err = json.Unmarshal([]byte(text), v)
	}
	if err != nil {
		t.Fatalf("%q: %v\n%s", text, err, d.errs)
	}
}

// interrupt ends d as Ctrl-C does, and checks that it ended well.
func (d *daemon) interrupt(t *testing.T, signal os.Signal) {
	t.Helper()
	if err := d.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, d.out)
	if err := d.Wait(); err != nil {
		t.Errorf("%v\n%s", err, d.errs)
	}
}

func client(t *testing.T, addr string) *httpapi.Client {
	t.Helper()
	c, err := httpapi.NewClient(addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// fetch gets an object by HTTP.
func fetch(t *testing.T, url string) []byte {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		t.Fatalf("%s: %s, %v, %.200s", url, res.Status, err, data)
	}
	return data
}

func TestNodeProcess(t *testing.T) {
	d := start(t, "node", "-o", "json", "--control-port=0", "--data-port=0", "--http=127.0.0.1:0", "--name=alone", "--memory=64MB", "--log-level=warning")
	var r ready
	d.line(t, &r)
	if r.Node.Name() != "alone" || r.Control == "" || r.Data == "" {
		t.Errorf("%+v", r)
	}
	c := client(t, r.HTTP)
	data := random(200_000)
	if _, err := c.Put(t.Context(), "a", bytes.NewReader(data), int64(len(data)), httpapi.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := fetch(t, r.HTTP+"/v1/objects/a"); !bytes.Equal(got, data) {
		t.Errorf("got %d other bytes", len(got))
	}
	if got := string(fetch(t, r.HTTP+"/readyz")); got != "ok\n" {
		t.Errorf("readyz: %q", got)
	}
	if !strings.Contains(string(fetch(t, r.HTTP+"/metrics")), "phalanx_objects 1\n") {
		t.Error("the metrics do not tell of the object")
	}
	_, err := c.Put(t.Context(), "big", bytes.NewReader(make([]byte, 65<<20)), 65<<20, httpapi.PutOptions{})
	if !errors.Is(err, phalanx.ErrNoSpace) {
		t.Errorf("an object over the cap: %v", err)
	}
	d.interrupt(t, syscall.SIGTERM)
}

func random(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(b) // never fails
	return b
}

func TestDevProcesses(t *testing.T) {
	d := start(t, "dev", "--nodes=3", "-o", "json", "--http=127.0.0.1:0", "--memory=256MB", "--log-level=error")
	var up struct {
		Event string
		Nodes []child
	}
	d.line(t, &up)
	if up.Event != "ready" || len(up.Nodes) != 3 {
		t.Fatalf("%+v", up)
	}
	first, third := up.Nodes[0].HTTP, up.Nodes[2].HTTP
	b := &bed{addr: first, environ: []string{"PHALANX_ADDR=" + first}}
	t.Chdir(t.TempDir())
	data := random(3_000_000)
	if err := os.WriteFile("f", data, 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, b.run(t, "", "put", "f", "models/7"), "models/7: 2.9 MB")
	if got := fetch(t, third+"/v1/objects/models/7"); !bytes.Equal(got, data) {
		t.Errorf("another node has %d other bytes", len(got))
	}
	must(t, b.run(t, "", "get", "models/7", "copy", "--addr", up.Nodes[1].HTTP), "in copy")
	if got, err := os.ReadFile("copy"); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d other bytes, %v", len(got), err)
	}
	must(t, b.run(t, "", "put", "f", "many", "--copies=9", "--timeout=30s"), "9 copies", "3 members", string(up.Nodes[2].Node), "exit 8\n")
	must(t, b.run(t, "", "prefetch", "models/7"), "has models/7")
	// Shards that move after the joins list their holders again one by one.
	must(t, b.run(t, "", "tree", "models/7"), "models/7  broadcast, final, 2.9 MB\n")
	must(t, b.run(t, "", "stat", "models/7"), "models/7: final", "2.9 MB, digest")
	must(t, b.run(t, "", "status", "--addr", third), "3 members", string(up.Nodes[0].Node))

	array := strings.Repeat("\x00\x00\x80\x3f", 100_000) // float32 ones
	for i, n := range up.Nodes {
		must(t, b.run(t, array, "put", "-", fmt.Sprint("grad/", i), "--dtype", "float32", "--shape", "100000", "--addr", n.HTTP), "float32[100000]")
	}
	must(t, b.run(t, "", "reduce", "sum", "grad/0", "grad/1", "grad/2"), "sum: 390.6 KB float32[100000]", "in   grad/1")
	if got, want := fetch(t, third+"/v1/objects/sum"), strings.Repeat("\x00\x00\x40\x40", 100_000); string(got) != want { // threes
		t.Errorf("the sum is wrong: % x…", got[:min(8, len(got))])
	}
	must(t, b.run(t, "12345", "put", "-", "odd", "--dtype", "float32"), "5 bytes are no multiple of a float32's 4", "exit 2\n")
	must(t, b.run(t, "", "tree", "odd"), `tree "odd": not found`, "exit 3\n")
	must(t, b.run(t, array, "put", "-", "other", "--dtype", "float64"), "float64")
	must(t, b.run(t, "", "reduce", "bad", "grad/0", "other", "--timeout", "10s"), "mismatch", "exit 6\n")
	must(t, b.run(t, "", "ls", "grad/"), "float32[100000]  final  grad/0")
	must(t, b.run(t, "", "rm", "models/7"), "deleted")
	must(t, b.run(t, "", "get", "models/7", "copy"), "exit 5\n")

	d.interrupt(t, os.Interrupt)
	for _, n := range up.Nodes {
		if err := syscall.Kill(n.PID, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("%s goes on: %v", n.Node, err)
		}
	}
}

func must(t *testing.T, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			t.Errorf("%q is not in:\n%s", part, got)
		}
	}
}

func TestDevReportsTheDead(t *testing.T) {
	d := start(t, "dev", "--nodes=2", "-o", "json", "--http=127.0.0.1:0", "--memory=64MB", "--log-level=error")
	var up struct{ Nodes []child }
	d.line(t, &up)
	for _, n := range up.Nodes {
		if err := syscall.Kill(n.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		var died struct {
			Event string
			Node  phalanx.NodeID
			PID   int
			Cause string
		}
		d.line(t, &died)
		if died.Event != "died" || died.Node != n.Node || died.PID != n.PID || died.Cause != "signal: killed" {
			t.Errorf("%+v", died)
		}
	}
	err := d.Wait()
	if d.ProcessState.ExitCode() != 8 || !strings.Contains(d.errs.String(), "all nodes have died") {
		t.Errorf("%v, %s", err, d.errs)
	}
}

// A node ends with whoever started it, however that ends. Without a setting, the
// nodes share the machine's memory.
func TestDevKilled(t *testing.T) {
	d := start(t, "dev", "--nodes=3", "-o", "json", "--http=127.0.0.1:0", "--log-level=error")
	var up struct{ Nodes []child }
	d.line(t, &up)
	var streams []io.ReadCloser
	total := int64(0)
	for _, n := range up.Nodes {
		events, err := http.Get(n.HTTP + "/v1/events")
		if err != nil {
			t.Fatal(err)
		}
		defer events.Body.Close()
		streams = append(streams, events.Body)
		st, err := client(t, n.HTTP).Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		total += st.Memory.Cap
	}
	if whole := 4 * cluster.DefaultMemory(); total > whole*3/4 || total < whole/2 {
		t.Errorf("all caps are %d bytes, the machine has %d", total, whole)
	}
	if err := d.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, events := range streams {
		if _, err := io.Copy(io.Discard, events); err != nil { // ends when the node does
			t.Logf("the stream of events: %v", err)
		}
	}
	_ = d.Wait()
}

// The program says where nodes are started that nothing outlives them, and nothing does.
func TestEverythingIsInMemory(t *testing.T) {
	d := start(t, "dev", "--nodes=1", "--http=127.0.0.1:0", "--memory=64MB", "--log-level=error")
	var banner strings.Builder
	for !strings.Contains(banner.String(), "Ctrl-C ends all") {
		line, err := d.out.ReadString('\n')
		if err != nil {
			t.Fatalf("%v after %s", err, banner.String())
		}
		banner.WriteString(line)
	}
	d.interrupt(t, os.Interrupt)
	must(t, banner.String(), "1 node is ready:", inMemory)
	for _, command := range []string{"dev", "node"} {
		must(t, (&bed{}).run(t, "", "help", command), inMemory, onDisk)
	}
	for _, file := range []string{"../../README.md", "../../docs/failure-semantics.md"} {
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), inMemory) {
			t.Errorf("%s does not say that %q, %v", file, inMemory, err)
		}
	}
	for _, signal := range []os.Signal{syscall.SIGTERM, syscall.SIGKILL, nil} {
		var r ready
		n := start(t, nodeArgs("n1", "64MB")...)
		n.line(t, &r)
		c := client(t, r.HTTP)
		if _, err := c.Stat(t.Context(), "kept", 0); !errors.Is(err, phalanx.ErrNotFound) {
			t.Errorf("an object is there in the beginning: %v", err)
		}
		if signal == nil {
			break
		}
		if _, err := c.Put(t.Context(), "kept", strings.NewReader("x"), 1, httpapi.PutOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := n.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, n.out)
		_ = n.Wait()
	}
}

func TestDevMemory(t *testing.T) {
	for _, c := range []struct {
		count int
		want  int64
	}{{1, 1000}, {3, 1000}, {4, 750}, {256, 11}} {
		if got := devMemory(1000, c.count); got != c.want {
			t.Errorf("%d nodes: %d, want %d", c.count, got, c.want)
		}
	}
	for _, environ := range [][]string{nil, {"PHALANX_MEMORY=1GB"}} {
		given, err := (&bed{environ: environ}).app("", io.Discard, io.Discard).given()
		if err != nil || (find(given, "memory").From != "default") != (environ != nil) {
			t.Errorf("%v: %v, %v", environ, given, err)
		}
	}
}

func TestPortsInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	addr := l.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	for _, c := range []struct{ flags, want string }{
		{"--http=" + addr + " --control-port=0 --data-port=0", "http: " + addr + " is in use, perhaps by another node: give another address with --http"},
		{"--http=off --data-port=0 --control-port=" + port, "--control-port"},
		{"--http=off --control-port=0 --data-port=" + port, "--data-port"},
	} {
		got := (&bed{}).run(t, "", append([]string{"node", "--log-level=error"}, strings.Fields(c.flags)...)...)
		must(t, got, c.want, port, "exit 2\n")
	}
	got := (&bed{environ: clean(os.Environ())}).dev(t, "--nodes=1", "--http="+addr)
	must(t, got, "http: "+addr+" is in use", "exit 2")
	if strings.Count(got, "is in use") != 1 {
		t.Errorf("it says so more than once:\n%s", got)
	}
}

// dev runs the real program, because its children do.
func (b *bed) dev(t *testing.T, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), program, append([]string{"dev"}, args...)...)
	c.Env = b.environ
	out, _ := c.CombinedOutput()
	return fmt.Sprintf("%sexit %d", out, c.ProcessState.ExitCode())
}

func TestNoSeedAnswers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	seed := l.Addr().String()
	_ = l.Close()
	got := (&bed{}).run(t, "", "node", "--http=off", "--control-port=0", "--data-port=0", "--log-level=error", "--join-timeout=300ms", "--seeds="+seed)
	must(t, got, seed, "is a node running", "exit 9\n")
}

// A seed that names the HTTP port of a node ends the join long before its deadline, with
// the port that was wanted.
func TestSeedIsAnHTTPPort(t *testing.T) {
	d := start(t, nodeArgs("first", "16MB")...)
	var r ready
	d.line(t, &r)
	seed := strings.TrimPrefix(r.HTTP, "http://")
	got := (&bed{}).run(t, "", "node", "--http=off", "--control-port=0", "--data-port=0", "--log-level=error", "--join-timeout=1h", "--seeds="+seed)
	must(t, got, seed+" this node serves HTTP", "control address (--control-port) of a node, here "+r.Control, string(r.Node), "exit 2\n")
	must(t, (&bed{}).run(t, "", "status", "--addr", r.Control), "does not speak HTTP: the port of --http is wanted, 7420", "exit 8\n")
	got = (&bed{}).run(t, "", "node", "--http=off", "--control-port=0", "--data-port=0", "--log-level=error", "--join-timeout=300ms", "--seeds="+r.Data)
	must(t, got, r.Data, "has not answered as the control port of a node does", "They name control addresses (--control-port", "exit 9\n")
}

func TestInterruptedStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var errs bytes.Buffer
	b := &bed{}
	if code := b.app("", io.Discard, &errs).run(ctx, []string{"node", "--http=off", "--control-port=0", "--data-port=0", "--log-level=error"}); code != 0 && code != 130 {
		t.Errorf("exit %d: %s", code, &errs)
	}
}
