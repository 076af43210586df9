package workflow

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/phalanx-go/phalanx/internal/poll"
)

// checkpoints returns the files of checkpoints in folders.
func checkpoints(t *testing.T, dirs ...string) (all []string) {
	t.Helper()
	for _, dir := range dirs {
		entries, err := os.ReadDir(filepath.Join(dir, "blobs"))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name()[0] != '.' {
				all = append(all, filepath.Join(dir, "blobs", e.Name()))
			}
		}
	}
	return all
}

// An output whose last copy and whose checkpoint are lost is made again: whether the disk does not have the checkpoint
// any more, or has other bytes.
func TestALostCheckpointIsMadeAgain(t *testing.T) {
	for _, corrupt := range []bool{false, true} {
		var e effects
		big := Func0("big", 1, func(Context) ([]byte, error) { e.add("big"); return bytes.Repeat([]byte{7}, 300_000), nil }).With(NoEffect)
		use := Func2("use", 1, func(_ Context, b []byte, s string) (int, error) { return len(b), nil }).With(NoEffect)
		bed, dir := &bedOf{t: t}, t.TempDir()
		n := bed.join("a", Settings{Dir: dir})
		m := bed.join("b", Settings{Tasks: Tasks(big)})
		made := big.Bind()
		r, err := Start(within(t), n, "r", use.Bind(made, Event[string]("go", made)))
		if err != nil {
			t.Fatal(err)
		}
		poll.Until(t, "the checkpoint", func() bool { return len(checkpoints(t, dir)) == 1 })
		bed.join("c", Settings{Tasks: Tasks(big, use)})
		die(m)
		file := checkpoints(t, dir)[0]
		if corrupt {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			b[200_000]++
			if err := os.WriteFile(file, b, 0o600); err != nil {
				t.Fatal(err)
			}
		} else if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if err := Signal(within(t), n, "r", "go", "key", []byte(`"go"`)); err != nil {
			t.Fatal(err)
		}
		if got := result(t, r, nil); got != 300_000 || e.count("big") != 2 {
			t.Errorf("corrupt %v: %d bytes, made %d times", corrupt, got, e.count("big"))
		}
	}
}

// A copy of a checkpoint that a disk has lost is written again as the other one is read.
func TestALostCopyIsWrittenAgain(t *testing.T) {
	var e effects
	g := newGate()
	big := Func0("big", 1, func(Context) ([]byte, error) { e.add("big"); return bytes.Repeat([]byte{7}, 300_000), nil }).With(NoEffect)
	use := Func2("use", 1, func(c Context, b []byte, s string) (int, error) { return len(b), g.pass(c, "use") }).With(NoEffect)
	bed, dirs := three(t, Tasks())
	m := bed.join("m", Settings{Tasks: Tasks(big)})
	made := big.Bind()
	r, err := Start(within(t), bed.nodes[0], "r", use.Bind(made, Event[string]("go", made)))
	if err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "both checkpoints", func() bool { return len(checkpoints(t, dirs...)) == 2 })
	bed.join("o", Settings{Tasks: Tasks(use)})
	die(m)
	lost := checkpoints(t, dirs...)[0] // the nodes are asked in the order of their names
	if err := os.Remove(lost); err != nil {
		t.Fatal(err)
	}
	if err := Signal(within(t), bed.nodes[0], "r", "go", "key", []byte(`"go"`)); err != nil {
		t.Fatal(err)
	}
	g.await(t)
	poll.Until(t, "the copy", func() bool { return len(checkpoints(t, dirs...)) == 2 })
	close(g.open)
	if got := result(t, r, nil); got != 300_000 || e.count("big") != 1 {
		t.Errorf("%d bytes, made %d times", got, e.count("big"))
	}
}
