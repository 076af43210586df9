package workflow

import (
	"bytes"
	"fmt"
	"testing"

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
