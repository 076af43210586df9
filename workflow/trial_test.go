package workflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/phalanx-go/phalanx"
)

// A trial on a node keeps its objects there; its recording survives as JSON and is replayed.
func TestTrialOnANode(t *testing.T) {
	n := nodes(t, 1)[0]
	trial := NewTrial(TrialConfig{Run: "try", Node: n})
	in, err := trial.Object(t.Context(), "in", []byte("ab"))
	if err != nil {
		t.Fatal(err)
	}
	repeat := Func2("repeat", 2, func(c Context, r Ref, times []int) ([]byte, error) {
		b, err := GetBytes(c, r)
		if err == nil {
			_, err = c.Put("side", b)
		}
		return bytes.Repeat(b, times[0]*times[1]), err
	}).With(Deterministic)
	made, err := trial.Do(t.Context(), repeat.Bind(Value(in), All(Value(300), Value(400))), Try{Gen: 3})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := Output[[]byte](made); err != nil || len(out) != 240_000 || made.Key != "try/repeat" || len(made.Objects) != 1 || string(made.Objects[0].ID()) != fmt.Sprintf("wf/try/repeat/%s/side", made.Objects[0].Digest()) {
		t.Errorf("%d bytes, %s, %v, %v", len(out), made.Key, made.Objects, err)
	}
	if _, err := n.Stat(t.Context(), "wf/try/repeat/3/0/.output"); err != nil {
		t.Error(err)
	}
	form, err := json.Marshal(made)
	if err != nil {
		t.Fatal(err)
	}
	var kept Recording
	if err := json.Unmarshal(form, &kept); err != nil || !reflect.DeepEqual(kept, made) {
		t.Errorf("%v, %v", kept, err)
	}
	again, err := trial.Replay(t.Context(), Tasks(repeat), kept, Try{Gen: 4})
	if err != nil || again.Digest != made.Digest || !bytes.Equal(again.Output, made.Output) {
		t.Errorf("%s, %v; want %s", again.Digest, err, made.Digest)
	}
	kept.Task = "repeat"
	if _, err := trial.Replay(t.Context(), Tasks(repeat), kept, Try{}); !errors.Is(err, phalanx.ErrInvalid) {
		t.Error(err)
	}
}

func TestTrialsThatAreWrong(t *testing.T) {
	trial := NewTrial(TrialConfig{})
	one := Func0("one", 1, func(Context) (int, error) { return 1, nil })
	use := Do1("use", 1, func(Context, int) error { return nil })
	for want, s := range map[string]AnyStep{
		"it is the output of a step":  use.Bind(one.Bind()),
		"the step has no function":    Named0[int]("x", 1).Bind(),
		"no Undo":                     one.Bind(),
		"has no function":             Sleep(1),
		"argument 0: json: unsupport": Do1("f", 1, func(Context, float64) error { return nil }).Bind(Value(inf())),
	} {
		_, err := trial.Do(t.Context(), s, Try{})
		if want == "no Undo" {
			err = trial.Undo(t.Context(), s, Try{})
		}
		is(t, err, phalanx.ErrInvalid)
		contains(t, err, want)
	}
	var back []int
	f := Func0("f", 1, func(Context) (int, error) { return 5, nil }).Compensate(func(_ Context, out int) error { back = append(back, out); return nil })
	made, err := trial.Do(t.Context(), f.Bind(), Try{})
	if err != nil {
		t.Fatal(err)
	}
	if err := trial.Compensate(t.Context(), f.Bind(), made, Try{}); err != nil || !reflect.DeepEqual(back, []int{5}) {
		t.Errorf("%v, %v", back, err)
	}
}

func inf() float64 {
	zero := 0.0
	return 1 / zero
}

// A recording names its task, whatever the name is.
func TestReplayFindsTheTask(t *testing.T) {
	for _, name := range []string{"a", "a@b", "a@1"} {
		f := Func0(name, 7, func(Context) (int, error) { return 1, nil })
		trial := NewTrial(TrialConfig{})
		r, err := trial.Do(t.Context(), f.Bind(), Try{})
		if err != nil {
			t.Fatal(err)
		}
		if again, err := trial.Replay(t.Context(), Tasks(f), r, Try{}); err != nil || again.Task != name+"@7" {
			t.Errorf("%q: %q, %v", name, again.Task, err)
		}
	}
	for _, task := range []string{"", "a", "a@", "a@b"} {
		if _, err := NewTrial(TrialConfig{}).Replay(t.Context(), Tasks(), Recording{Task: task}, Try{}); !errors.Is(err, phalanx.ErrInvalid) {
			t.Errorf("%q: %v", task, err)
		}
	}
}
