package workflow

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx/internal/poll"
)

// A run whose task has begun and needs an output that neither a node nor a disk has any more is stuck, and names it. It goes on
// once somebody accepts the loss: then the tasks run again.
func TestALossIsAccepted(t *testing.T) {
	var e effects
	g := newGate()
	draws := 0
	draw := Func0("draw", 1, func(Context) (string, error) {
		draws++
		e.add(fmt.Sprint("draw ", draws))
		return strings.Repeat("z", 100_000), nil
	}).With(NoEffect)
	pay := Func1("pay", 1, func(c Context, in string) (int, error) { // it begins once draw is saved
		e.add("pay")
		return len(in), g.pass(c, "pay")
	}).With(Idempotent)
	s := Settings{Dir: t.TempDir(), Tasks: Tasks(draw, pay)}
	b := &bedOf{t: t}
	n := b.join("a", s)
	if _, err := Start(within(t), n, "x", pay.Bind(draw.Bind())); err != nil {
		t.Fatal(err)
	}
	g.await(t)
	die(n)
	files, err := filepath.Glob(filepath.Join(s.Dir, "*", "wf*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the checkpoints are %q, %v", files, err)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	close(g.open)

	b = &bedOf{t: t}
	n = b.join("a", s)
	var st Status
	poll.Until(t, "the run is stuck", func() bool {
		st, err = StatusOf(within(t), n, "x")
		return err == nil && len(st.Lost) > 0
	})
	if !slices.Equal(st.Lost, []string{"draw"}) || !strings.Contains(st.Why, "accept the loss") {
		t.Errorf("%+v", st)
	}
	if err := Resume(within(t), n, "x"); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "it is stuck again", func() bool {
		st, err = StatusOf(within(t), n, "x")
		return err == nil && len(st.Lost) > 0
	})
	if n := e.count("draw 2"); n != 0 {
		t.Error("draw runs again though nobody has accepted that")
	}
	if err := Resume(within(t), n, "x", AcceptLoss()); err != nil {
		t.Fatal(err)
	}
	r, err := Attach[int](within(t), n, "x")
	if got := result(t, r, err); got != 100_000 {
		t.Errorf("the result is %d", got)
	}
	if e.count("draw 2") != 1 || e.count("pay") < 2 {
		t.Errorf("what happened is %s", &e)
	}
	var said []string
	for h, err := range History(within(t), n, "x") {
		if err != nil {
			t.Fatal(err)
		}
		if h.What == "resumed" || h.What == "unsaved" || h.What == "recovering" {
			said = append(said, h.What+" "+h.Text)
		}
	}
	if want := []string{"unsaved no disk has its checkpoint any more", "resumed without what is lost", "recovering though that breaks a rule: the loss was accepted"}; !slices.Equal(said, want) {
		t.Errorf("the history says %q, want %q", said, want)
	}
}
