package hashdag

import (
	"fmt"
	"testing"
)

// The check of the effects finds one that is missing, twice there, or of another input.
func TestCheck(t *testing.T) {
	o, err := NewOutside(t.TempDir(), 0)
	if err != nil {
		t.Fatal(err)
	}
	says := func(want string, sums ...string) {
		t.Helper()
		if err := o.Check("run", sums); fmt.Sprint(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for key, number := range map[string]int{"run/0": 0, "run/1": 1, "run2/0": 0} {
		for range 2 { // an attempt again
			if err := o.effect(key, number, "sum"); err != nil {
				t.Fatal(err)
			}
		}
	}
	says("<nil>", "sum", "sum")
	says("task 2 has had no effect", "sum", "sum", "sum")
	says("task 1 has made sum, not other", "sum", "other")
	if err := o.effect("run/2", 1, "sum"); err != nil {
		t.Fatal(err)
	}
	says("task 1 has taken effect twice", "sum", "sum")
	if err := o.Forget("run"); err != nil {
		t.Fatal(err)
	}
	says("task 0 has had no effect", "sum")
}
