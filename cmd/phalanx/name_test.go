package main

import (
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/internal/httpapi"
)

// A second process with the name of a node that lives is refused, and the first goes on. When
// that one hangs until it was removed and the name is taken, it ends with an error.
func TestTwoProcessesOfOneName(t *testing.T) {
	free := []string{"node", "-o", "json", "--control-port=0", "--data-port=0", "--memory=64MB", "--log-level=error"}
	with := func(flags ...string) []string { return append(append([]string(nil), free...), flags...) }
	first := start(t, with("--http=127.0.0.1:0", "--name=first")...)
	var at, old, other, taken ready
	first.line(t, &at)
	twin := start(t, with("--http=127.0.0.1:0", "--name=twin", "--seeds="+at.Control)...)
	twin.line(t, &old)
	start(t, with("--http=off", "--name=other", "--seeds="+at.Control)...).line(t, &other)

	late := with("--http=off", "--name=twin", "--seeds="+at.Control)
	cmd := exec.CommandContext(t.Context(), program, late...)
	cmd.Env = clean(cmd.Environ())
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 17 || !strings.Contains(string(out), old.Control) {
		t.Errorf("it ended with %v: %s", err, out)
	}
	h := client(t, old.HTTP)
	if _, err := h.Put(t.Context(), "a", strings.NewReader("bytes"), 5, httpapi.PutOptions{}); err != nil {
		t.Fatal(err)
	}

	if err := twin.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	start(t, late...).line(t, &taken)
	if err := twin.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	go func() { ended <- twin.Wait() }()
	select {
	case err := <-ended:
		if !errors.As(err, &exit) || exit.ExitCode() == 0 || !strings.Contains(twin.errs.String(), string(taken.Node)) {
			t.Errorf("it ended with %v: %s", err, twin.errs)
		}
	case <-time.After(30 * time.Second):
		t.Error("it goes on")
	}
}
