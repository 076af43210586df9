package workflow

import "testing"

// A node without a folder can begin the cluster: the first one with a folder creates the ledger.
func TestLedgerOfALaterNode(t *testing.T) {
	inc := Func1("inc", 1, func(_ Context, k int) (int, error) { return k + 1, nil }).With(Idempotent)
	b := &bedOf{t: t}
	client := b.join("client", Settings{})
	tasks := Tasks(inc)
	b.join("other", Settings{Tasks: tasks})
	for _, name := range []string{"disk", "second"} {
		b.join(name, Settings{Dir: t.TempDir(), Tasks: tasks})
	}
	r, err := Start(within(t), client, "run", inc.Bind(Value(1)))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := r.Result(within(t)); got != 2 || err != nil {
		t.Error(got, err)
	}
}
