package workflow

import (
	"errors"
	"testing"

	"github.com/phalanx-go/phalanx"
)

// A caller deletes an object that it has passed to a run, and that the result names. The result is there all the same, and the object
// stays deleted.
func TestAResultThatNamesWhatTheCallerHasDeleted(t *testing.T) {
	pass := Func1("pass", 1, func(_ Context, r Ref) ([]Ref, error) { return []Ref{r}, nil }).With(NoEffect)
	b := &bedOf{t: t}
	n := b.join("a", Settings{Dir: t.TempDir(), Tasks: Tasks(pass)})
	info, err := n.Put(within(t), "given", make([]byte, 1000))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Start(within(t), n, "r", pass.Bind(Value(RefOf(info))))
	result(t, r, err)
	if err := n.Delete(within(t), "given"); err != nil {
		t.Fatal(err)
	}
	got := result(t, r, nil)
	v, err := n.TryGet(within(t), "given")
	if err == nil {
		v.Release()
	}
	if len(got) != 1 || !errors.Is(err, phalanx.ErrDeleted) {
		t.Errorf("%v, and then %v", got, err)
	}
	if _, err := n.Put(within(t), "given", make([]byte, 2000)); err != nil {
		t.Fatal(err)
	}
	if again := result(t, r, nil); len(again) != 1 || again[0] != got[0] {
		t.Errorf("%v; other bytes are under its id now", again)
	}
}
