package bed_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/internal/bed"
)

// The test binary is also the program on the hosts.
const role = "PHALANX_BED_TEST"

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "serve":
		err = serve()
	case "dial":
		err = dial(os.Args[1])
	case "leave": // leave a bed behind
		_, err = bed.New(bed.Config{Hosts: 1})
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

const port = ":7000"

// serve echoes its input.
func serve() error {
	l, err := net.Listen("tcp", port)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
	}
}

// soon is how long anything may take on a bed.
const soon = time.Second

// dial writes "connected", and then for each line of its input how the line fared on
// the connection and back: "there", "silence" or "reset".
func dial(to string) error {
	c, err := net.DialTimeout("tcp", to+port, soon)
	if err != nil {
		fmt.Println(outcome(err))
		return nil
	}
	fmt.Println("connected")
	back := bufio.NewReader(c)
	in := bufio.NewScanner(os.Stdin)
	for in.Buffer(nil, 2<<20); in.Scan(); {
		_ = c.SetDeadline(time.Now().Add(soon))
		_, err := fmt.Fprintln(c, in.Text())
		if err == nil {
			_, err = back.ReadString('\n')
		}
		fmt.Println(outcome(err))
	}
	return nil
}

func outcome(err error) string {
	switch {
	case err == nil:
		return "there"
	case errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE):
		return "reset"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	}
	if e := net.Error(nil); errors.As(err, &e) && e.Timeout() {
		return "silence"
	}
	return err.Error()
}

func build(t *testing.T, cfg bed.Config) *bed.Bed {
	t.Helper()
	bed.Need(t)
	b, err := bed.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func on(t *testing.T, b *bed.Bed, i int, as string, args ...string) *talk {
	t.Helper()
	cmd := b.Command(i, os.Args[0], args...)
	cmd.Env = append(os.Environ(), role+"="+as)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return &talk{in, bufio.NewScanner(out)}
}

// talk is a conversation with a program.
type talk struct {
	in  io.Writer
	out *bufio.Scanner
}

func (p *talk) hears(t *testing.T, want string) {
	t.Helper()
	if p.out.Scan(); p.out.Text() != want {
		t.Errorf("%q, want %q", p.out.Text(), want)
	}
}

func (p *talk) sends(t *testing.T, want string) {
	t.Helper()
	_, _ = fmt.Fprintln(p.in, "hello")
	p.hears(t, want)
}

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestCuts(t *testing.T) {
	b := build(t, bed.Config{Hosts: 3})
	for i := range 2 {
		on(t, b, i, "serve").hears(t, "ready")
	}
	reach := func(t *testing.T, from, to int, want string) {
		t.Helper()
		on(t, b, from, "dial", b.Addr(to)).hears(t, want)
	}
	for _, c := range []struct {
		name              string
		cuts              []bed.Cut
		old               string // the fate of an open connection from 2 to 0
		new, other, third string // of new ones from 2 to 0, 2 to 1 and 1 to 0
	}{
		{"drop", bed.Between(0, b.Hosts()...), "silence", "silence", "connected", "silence"},
		{"drop one way", bed.From(0, b.Hosts()...), "silence", "silence", "connected", "silence"},
		{"drop the other way", bed.To(0, b.Hosts()...), "silence", "silence", "connected", "silence"},
		{"drop a pair", bed.Between(2, 0), "silence", "silence", "connected", "connected"},
		{"reset", bed.Refuse(bed.Between(0, b.Hosts()...)), "reset", "refused", "connected", "refused"},
		{"reset of a pair", bed.Refuse(bed.Between(0, 2)), "reset", "refused", "connected", "connected"},
	} {
		t.Run(c.name, func(t *testing.T) {
			open := on(t, b, 2, "dial", b.Addr(0))
			open.hears(t, "connected")
			open.sends(t, "there")
			do(t, b.Cut(c.cuts...))
			open.sends(t, c.old)
			reach(t, 2, 0, c.new)
			reach(t, 2, 1, c.other)
			reach(t, 1, 0, c.third)
			do(t, b.Heal(c.cuts...))
			reach(t, 2, 0, "connected")
			reach(t, 1, 0, "connected")
		})
	}
}

// Healing one cut leaves others, and beds do not touch each other.
func TestCutsAreIndependent(t *testing.T) {
	b, other := build(t, bed.Config{Hosts: 2}), build(t, bed.Config{Hosts: 2})
	for _, b := range []*bed.Bed{b, other} {
		on(t, b, 0, "serve").hears(t, "ready")
	}
	do(t, b.Cut(append(bed.Between(0, 1), bed.Refuse(bed.To(0, 1))...)...))
	do(t, b.Heal(bed.Between(0, 1)...))
	on(t, b, 1, "dial", b.Addr(0)).hears(t, "refused")
	on(t, other, 1, "dial", other.Addr(0)).hears(t, "connected")
	if err := b.Cut(bed.Cut{From: 0, To: 2}); err == nil {
		t.Error("Cut accepts a host that does not exist")
	}
}

// Bytes do not pass faster than a link's rate; the machine decides how much slower
// they are.
func TestRates(t *testing.T) {
	const rate, size = 80_000_000, 1 << 20
	b := build(t, bed.Config{Hosts: 2, Rate: rate})
	on(t, b, 0, "serve").hears(t, "ready")
	send := func(size int) (took time.Duration) {
		t.Helper()
		p := on(t, b, 1, "dial", b.Addr(0))
		p.hears(t, "connected")
		began := time.Now()
		_, _ = fmt.Fprintln(p.in, strings.Repeat("x", size))
		p.hears(t, "there")
		return time.Since(began)
	}
	fast := func(size int, rate int64) time.Duration { // two buckets full need not wait
		return time.Duration(float64(size-2*32<<10) * 8 / float64(rate) * 1e9)
	}
	if took, least := send(size), fast(size, rate); took < least {
		t.Errorf("%d bytes took %v, want at least %v", size, took, least)
	}
	do(t, b.Slow(1, 10))
	if took, least := send(size/8), fast(size/8, rate/10); took < least {
		t.Errorf("%d bytes took %v on a slow link, want at least %v", size/8, took, least)
	}
	do(t, b.Slow(1, 1))
	send(size) // would not be there in time on a slow link
	if b.Slow(2, 1) == nil || b.Slow(0, 0) == nil {
		t.Error("Slow accepts a link that does not exist")
	}
}

func TestLeftoversAreRemoved(t *testing.T) {
	bed.Need(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), role+"=leave")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
	left := func() (n int) {
		out, err := exec.Command("ip", "netns", "list").Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(out), fmt.Sprintf("phalanx-bed-%d-", cmd.Process.Pid))
	}
	if left() != 2 {
		t.Errorf("%d namespaces are left, want two: of a host and a switch", left())
	}
	do(t, bed.Clean())
	if left() != 0 {
		t.Error("the namespaces are still there")
	}
}

func TestConfig(t *testing.T) {
	for _, cfg := range []bed.Config{{}, {Hosts: 251}, {Hosts: 1, Rate: -1}} {
		if b, err := bed.New(cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
			_ = b.Close()
		}
	}
}
