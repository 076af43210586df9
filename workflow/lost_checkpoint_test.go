package workflow

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/phalanx-go/phalanx/internal/poll"
)

// checkpoints returns the files of the checkpoints of some bytes.
func checkpoints(t *testing.T, dirs []string, size int) (all []string) {
	t.Helper()
	for _, dir := range dirs {
		entries, err := os.ReadDir(filepath.Join(dir, "blobs"))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if i, err := e.Info(); err == nil && e.Name()[0] != '.' && i.Size() >= int64(size) && i.Size() < int64(size)+1000 {
				all = append(all, filepath.Join(dir, "blobs", e.Name()))
			}
		}
	}
	return all
}

func spoil(t *testing.T, file string) {
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2]++
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Checkpoints that are lost, or corrupt, while no node has their outputs in memory: an output of which no copy is good is made
// again; one that has a good one is read.
func TestLostCheckpoints(t *testing.T) {
	const none, bad, half = 300_000, 310_000, 320_000 // bytes of outputs: no copy is left; a corrupt one is; a good one is
	var e effects
	big := Func1("big", 1, func(_ Context, n int) ([]byte, error) {
		e.add(fmt.Sprint(n))
		return bytes.Repeat([]byte{7}, n), nil
	}).With(NoEffect)
	use := Func2("use", 1, func(_ Context, b []byte, _ string) (int, error) {
		return len(b), nil
	}).With(NoEffect)
	mark := Func1("mark", 1, func(_ Context, b []byte) (int, error) { e.add("mark"); return 0, nil }) // it begins after all is durable that came before
	tasks := Tasks(big, use, mark)
	b, dirs := three(t, tasks)
	sizes := []int{none, bad, half}
	for _, n := range sizes {
		made, event := big.Bind(Value(n)), Event[string]("go")
		if n == half {
			event = After(event, mark.Bind(made))
		}
		if _, err := Start(within(t), b.nodes[0], fmt.Sprint(n), use.Bind(made, event)); err != nil {
			t.Fatal(err)
		}
		poll.Until(t, "two copies", func() bool { return len(checkpoints(t, dirs, n)) == 2 })
	}
	poll.Until(t, "what is durable", func() bool { return e.count("mark") == 1 })
	all := startAgain(t, b, dirs, tasks, func() {
		for _, n := range sizes {
			files := checkpoints(t, dirs, n)
			if n == none || n == bad {
				_ = os.Remove(files[1])
			}
			switch n {
			case none, half:
				_ = os.Remove(files[0])
			case bad:
				spoil(t, files[0])
			}
		}
	})
	for _, n := range sizes {
		if err := Signal(within(t), all[0], fmt.Sprint(n), "go", "key", []byte(`"go"`)); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range sizes {
		r, err := Attach[int](within(t), all[0], fmt.Sprint(n))
		want := 2
		if n == half {
			want = 1
		}
		if got := result(t, r, err); got != n || e.count(fmt.Sprint(n)) != want {
			t.Errorf("%d bytes, want %d; made %d times, want %d", got, n, e.count(fmt.Sprint(n)), want)
		}
	}
}
