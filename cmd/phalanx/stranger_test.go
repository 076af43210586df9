package main

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/phalanx-go/phalanx/internal/httpapi"
	"github.com/phalanx-go/phalanx/internal/wire"
)

// A node of another cluster, and a program that speaks another version of the messages, are
// refused with an error that says so, and the cluster that they were to join goes on.
func TestStrangersAreRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("not in a short run: another program is built")
	}
	free := []string{"node", "-o", "json", "--control-port=0", "--data-port=0", "--memory=64MB"}
	first := start(t, append(free, "--http=127.0.0.1:0", "--name=first")...)
	var up ready
	first.line(t, &up)

	newer := filepath.Join(t.TempDir(), "newer")
	build := exec.Command("go", "build", "-ldflags", "-X github.com/phalanx-go/phalanx/internal/wire.Version=newer", "-o", newer, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	free = append(free, "--http=off", "--seeds="+up.Control)
	for _, c := range []struct {
		program string
		flags   []string
		want    string
	}{
		{program, []string{"--name=b", "--cluster=other"}, `this is cluster "phalanx", and the node is of cluster "other"`},
		{newer, []string{"--name=c"}, fmt.Sprintf("the nodes of this cluster speak version %q to each other, and the node speaks %q", wire.Version, "newer")},
	} {
		cmd := exec.CommandContext(t.Context(), c.program, append(free, c.flags...)...)
		cmd.Env = clean(cmd.Environ())
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		err := cmd.Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 17 {
			t.Errorf("%v ended with %v: %s", c.flags, err, &said)
		}
		if !strings.Contains(strings.ReplaceAll(said.String(), `\"`, `"`), c.want) {
			t.Errorf("%v said %s, want %s", c.flags, &said, c.want)
		}
	}

	h := client(t, up.HTTP)
	if _, err := h.Put(t.Context(), "a", strings.NewReader("bytes"), 5, httpapi.PutOptions{}); err != nil {
		t.Error(err)
	}
	if got := string(fetch(t, up.HTTP+"/v1/objects/a")); got != "bytes" {
		t.Errorf("got %q", got)
	}
	if said := first.errs.String(); said != "" {
		t.Errorf("the node logged %s", said)
	}
	first.interrupt(t, syscall.SIGTERM)
}
