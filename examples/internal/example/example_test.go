package example

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// variable says which child a process of the tests is.
const variable = "PHALANX_EXAMPLE_TEST"

func TestMain(m *testing.M) {
	as := os.Getenv(variable)
	Child("demo", as == "fails", func() error { return errors.New("it cannot") })
	Child("demo", as == "ends", func() error { return nil })
	if as == "main" {
		Main("demo", "", func(context.Context, string) error { return errors.New("it did not work") })
	}
	os.Exit(m.Run())
}

// A child does its part and nothing else; one that fails, and an example that fails, say who and why.
func TestProcesses(t *testing.T) {
	for as, want := range map[string]string{"ends": "", "fails": "demo process: it cannot\n", "main": "demo: it did not work\n"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^$")
		cmd.Env = append(os.Environ(), variable+"="+as)
		out, err := cmd.CombinedOutput()
		if string(out) != want || (err != nil) != (want != "") {
			t.Errorf("%s: %q, %v", as, out, err)
		}
	}
}

// A temporary folder goes with the example, also with one that fails; another one stays.
func TestFolders(t *testing.T) {
	own, failed := t.TempDir(), errors.New("failed")
	for _, dir := range []string{"", own} {
		var used string
		if err := inFolder("demo", dir, func(dir string) error { used = dir; return failed }); !errors.Is(err, failed) {
			t.Error(err)
		}
		if _, err := os.Stat(used); (err == nil) != (dir != "") || dir == "" && !strings.Contains(used, "demo") {
			t.Errorf("%q: %v", used, err)
		}
	}
}

// Lines of several goroutines do not mix.
func TestOutput(t *testing.T) {
	var b strings.Builder
	out := Output(&b)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 100 {
				_, _ = out.Write([]byte("line\n"))
			}
		})
	}
	wait.Wait()
	if b.String() != strings.Repeat("line\n", 800) {
		t.Error("lines are mixed or lost")
	}
}
