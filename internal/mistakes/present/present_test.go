package present

import "testing"

func TestOneMistakeIsPresent(t *testing.T) {
	t.Setenv(Variable, "7")
	number = fromEnvironment()
	if !Is(7) || Is(0) || Is(8) {
		t.Error("the environment is not heeded")
	}
	Make(8)
	if !Is(8) || Is(7) {
		t.Error("the mistake has not changed")
	}
	Make(0)
	if Is(8) {
		t.Error("a mistake is present after Make(0)")
	}
}
