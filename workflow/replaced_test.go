package workflow

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/phalanx-go/phalanx/internal/poll"
)

// Each machine is replaced by a new one, whose node has joined before the old one leaves: what the ledger and the disks have goes on
// with them. At the end the last process is killed, so that only its folder is left.
func TestEachMachineIsReplaced(t *testing.T) {
	const size = 300_000
	big := Func1("big", 1, func(_ Context, n int) ([]byte, error) { return bytes.Repeat([]byte{byte(n)}, size), nil })
	use := Func2("use", 1, func(_ Context, b []byte, _ string) (int, error) { return len(b), nil }).With(NoEffect)
	tasks := Tasks(big, use)
	b := &bedOf{t: t}
	dir := t.TempDir()
	old := b.join("n0", Settings{Dir: dir, Tasks: tasks})
	ended, err := Start(within(t), old, "ended", big.Bind(Value(1)))
	result(t, ended, err)
	_, err = Start(within(t), old, "open", use.Bind(big.Bind(Value(2)), Event[string]("go")))
	if err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "two checkpoints", func() bool { return len(checkpoints(t, []string{dir}, size)) == 2 })
	for i := range 2 {
		dir = t.TempDir()
		next := b.join(fmt.Sprint("n", i+1), Settings{Dir: dir, Tasks: tasks})
		leave(t, old)
		if n := len(checkpoints(t, []string{dir}, size)); n != 2 {
			t.Fatalf("the folder of %s has %d checkpoints, and it is the only one", next.ID(), n)
		}
		old = next
	}
	die(old)
	last := b.join("n2", Settings{Dir: dir, Tasks: tasks})
	again, err := Attach[[]byte](within(t), last, "ended")
	if got := result(t, again, err); !bytes.Equal(got, bytes.Repeat([]byte{1}, size)) {
		t.Errorf("the result has %d bytes, want %d", len(got), size)
	}
	if err := Signal(within(t), last, "open", "go", "key", []byte(`"go"`)); err != nil {
		t.Fatal(err)
	}
	r, err := Attach[int](within(t), last, "open")
	if got := result(t, r, err); got != size {
		t.Errorf("the run goes on with %d bytes, want %d", got, size)
	}
}

// A node that leaves gives a checkpoint up after half of its time if it cannot be read. Its log says to keep the folder.
func TestLeaveSaysThatCheckpointsStayBehind(t *testing.T) {
	const size = 300_000
	big := Func1("big", 1, func(_ Context, n int) ([]byte, error) { return bytes.Repeat([]byte{byte(n)}, size), nil })
	tasks := Tasks(big)
	log, said := logtest.NewNullLogger()
	b := &bedOf{t: t}
	dir := t.TempDir()
	old := b.join("n0", Settings{Dir: dir, Tasks: tasks, Log: log})
	ended, err := Start(within(t), old, "ended", big.Bind(Value(1)))
	result(t, ended, err)
	poll.Until(t, "a checkpoint", func() bool { return len(checkpoints(t, []string{dir}, size)) == 1 })
	file := checkpoints(t, []string{dir}, size)[0]
	if err := errors.Join(os.Remove(file), os.Mkdir(file, 0o700)); err != nil { // it cannot be read, and is not corrupt
		t.Fatal(err)
	}
	b.join("n1", Settings{Dir: t.TempDir(), Tasks: tasks})
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
	defer cancel()
	if err := old.Leave(ctx); err != nil {
		t.Fatal(err)
	}
	for _, e := range said.AllEntries() {
		if strings.Contains(e.Message, "keep its folder") {
			return
		}
	}
	t.Error("nothing says to keep the folder")
}
