//go:build mistakes

package mistakes

import (
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// enoughSeeds is how many seeds a mistake may take to be found.
const enoughSeeds = "20000"

// Every mistake is found: by a simulation, in one of so many seeds, or by the tests of the
// package that it is in.
func TestFound(t *testing.T) {
	for _, m := range All() {
		t.Run(m.What, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			overlay, err := m.Overlay(root(t), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			var how string
			if m.By == Tests {
				how = byTests(t, overlay, m.Edits[0].File)
			} else {
				how = bySimulation(t, overlay, m.By)
			}
			t.Logf("%s finds it in %v: %s", m.By, time.Since(began).Round(time.Millisecond), how)
		})
	}
}

// run runs a command in the module, and reports whether it ended with 0.
func run(t *testing.T, command ...string) (out string, ok bool) {
	t.Helper()
	c := exec.Command(command[0], command[1:]...)
	c.Dir = root(t)
	text, err := c.CombinedOutput()
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return string(text), err == nil
}

var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)|^panic: .*`)

// byTests returns the first test that fails.
func byTests(t *testing.T, overlay, file string) string {
	t.Helper()
	out, ok := run(t, "go", "test", "-short", "-vet=off", "-overlay", overlay, "./"+filepath.Dir(file))
	switch first := failed.FindString(out); {
	case ok:
		t.Fatal("no test fails")
	case first == "":
		t.Fatalf("no test has run:\n%s", out)
	default:
		return strings.TrimSpace(first)
	}
	return ""
}

var (
	broken = regexp.MustCompile(`(?m)^seed .*$`)
	replay = regexp.MustCompile(`(?m)^.*go run ./cmd/sim (.*) -v$`)
)

// bySimulation returns what is broken, in a run that can be repeated.
func bySimulation(t *testing.T, overlay string, by Finder) string {
	t.Helper()
	sim := filepath.Join(t.TempDir(), "sim")
	if out, ok := run(t, "go", "build", "-overlay", overlay, "-o", sim, "./cmd/sim"); !ok {
		t.Fatalf("it cannot be built:\n%s", out)
	}
	args := []string{sim, "--seeds", enoughSeeds}
	switch by {
	case Barriers:
		args = append(args, "--barriers")
	case Groups:
		args = append(args, "--groups")
	case Store, Tests:
	}
	out, ok := run(t, args...)
	again := replay.FindStringSubmatch(out)
	switch {
	case ok:
		t.Fatalf("%s seeds do not find it", enoughSeeds)
	case again == nil:
		t.Fatalf("it says not how the run is repeated:\n%s", out)
	}
	if out, ok := run(t, append([]string{sim}, strings.Fields(again[1])...)...); ok {
		t.Errorf("%s does not repeat the run:\n%s", again[0], out)
	}
	return broken.FindString(out)
}
