package worktest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/phalanx-go/phalanx/workflow"
	"github.com/phalanx-go/phalanx/workflow/worktest"
)

var _ worktest.T = (*testing.T)(nil)

// found is a T that keeps what is found.
type found struct {
	ctx  context.Context
	said []string
}

func (f *found) Helper()                  {}
func (f *found) Context() context.Context { return f.ctx }
func (f *found) Errorf(format string, args ...any) {
	f.said = append(f.said, fmt.Sprintf(format, args...))
}
func (f *found) Fatalf(format string, args ...any) { f.Errorf(format, args...) }

// finds checks that a test of a wrong task finds something that says want; "": that it finds nothing.
func finds(t *testing.T, want string, test func(worktest.T)) {
	t.Helper()
	f := &found{ctx: t.Context()}
	test(f)
	if want == "" && f.said != nil || want != "" && !strings.Contains(strings.Join(f.said, "\n"), want) {
		t.Errorf("found %q, want %q", f.said, want)
	}
}

// bank is a service with effects: entries by key.
type bank struct {
	mu      sync.Mutex
	entries map[string][]entry
	undone  map[string]workflow.Fence // by key: nothing up to it takes effect
}

type entry struct {
	amount int
	fence  workflow.Fence
}

func newBank() *bank {
	return &bank{entries: map[string][]entry{}, undone: map[string]workflow.Fence{}}
}

// effects is what outsiders see: the sum.
func (b *bank) effects(key string) any {
	b.mu.Lock()
	defer b.mu.Unlock()
	sum := 0
	for _, e := range b.entries[key] {
		sum += e.amount
	}
	return sum
}

func (b *bank) add(c workflow.Context, amount int) {
	b.entries[c.Key()] = append(b.entries[c.Key()], entry{amount, c.Fence()})
}

func task(f func(c workflow.Context, n int) (int, error)) workflow.F1[int, int] {
	return workflow.Func1("pay", 1, f)
}

func TestTwice(t *testing.T) {
	for want, f := range map[string]func(b *bank, c workflow.Context, n int) (int, error){
		"": func(b *bank, c workflow.Context, n int) (int, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			if len(b.entries[c.Key()]) == 0 {
				b.add(c, n)
			}
			return n, nil
		},
		"has a second effect: 10": func(b *bank, c workflow.Context, n int) (int, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.add(c, n)
			return n, nil
		},
		"the repeat of pay@1 returns": func(b *bank, c workflow.Context, n int) (int, error) {
			return c.Attempt(), nil
		},
		"the repeat of pay@1 fails": func(b *bank, c workflow.Context, n int) (int, error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			if len(b.entries[c.Key()]) > 0 {
				return 0, fmt.Errorf("it is there")
			}
			b.add(c, n)
			return n, nil
		},
	} {
		b := newBank()
		s := task(func(c workflow.Context, n int) (int, error) { return f(b, c, n) }).Bind(workflow.Value(5))
		finds(t, want, func(t worktest.T) { worktest.Twice(t, s, b.effects) })
	}
}

// Each attempt of a task that is not deterministic puts objects of its own: those with the same bytes are the same output.
func TestTwiceWithObjects(t *testing.T) {
	none := func(string) any { return nil }
	for want, put := range map[string]func(c workflow.Context) []byte{
		"":                              func(c workflow.Context) []byte { return []byte("model") },
		"the repeat of train@1 returns": func(c workflow.Context) []byte { return []byte(c.Fence().String()) },
	} {
		s := workflow.Func0("train", 1, func(c workflow.Context) ([]workflow.Ref, error) {
			r, err := c.Put("<model>", put(c))
			return []workflow.Ref{r}, err
		}).Bind()
		finds(t, want, func(t worktest.T) { worktest.Twice(t, s, none) })
	}
}

// A task that looks first and acts then is idempotent only if nobody does the same at that time.
func TestTwiceAtTheSameTime(t *testing.T) {
	b := newBank()
	var arrived sync.WaitGroup
	arrived.Add(2)
	s := task(func(c workflow.Context, n int) (int, error) {
		b.mu.Lock()
		have := len(b.entries[c.Key()])
		b.mu.Unlock()
		if strings.HasPrefix(c.Key(), "worktest-together") {
			arrived.Done()
			arrived.Wait() // both have looked
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		if have == 0 {
			b.add(c, n)
		}
		return n, nil
	}).Bind(workflow.Value(5))
	finds(t, "at the same time have the effect 10; one has 5", func(t worktest.T) { worktest.Twice(t, s, b.effects) })
}

// undoable is a task with an undo that keeps what it promises, unless it is told to leave something away.
func undoable(b *bank, without string) workflow.AnyStep {
	return task(func(c workflow.Context, n int) (int, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if f, ok := b.undone[c.Key()]; ok && c.Fence().Compare(f) <= 0 && without != "fence" {
			return 0, fmt.Errorf("attempt %v was undone", c.Fence())
		}
		if without != "effect" {
			b.add(c, n)
		}
		return n, nil
	}).Undo(func(c workflow.Context, n int) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		if without == "repeat" && len(b.entries[c.Key()]) == 0 {
			b.add(c, -n)
		}
		var stay []entry
		for _, e := range b.entries[c.Key()] {
			if e.fence.Compare(c.Fence()) > 0 && without != "order" || without == "undo" || without == "repeat" && e.amount < 0 {
				stay = append(stay, e)
			}
		}
		b.entries[c.Key()] = stay
		if c.Fence().Compare(b.undone[c.Key()]) > 0 {
			b.undone[c.Key()] = c.Fence()
		}
		return nil
	}).Bind(workflow.Value(5))
}

func TestStraggler(t *testing.T) {
	for without, want := range map[string]string{
		"":       "",
		"fence":  "an attempt takes effect after its undo",
		"order":  "the undo of an earlier attempt, which comes late, undoes a later one",
		"undo":   "the undo leaves the effect",
		"repeat": "the undo that is repeated changes something",
		"effect": "pay@1 has no effect",
	} {
		t.Run(without, func(t *testing.T) {
			b := newBank()
			finds(t, want, func(t worktest.T) { worktest.Straggler(t, undoable(b, without), b.effects) })
		})
	}
}

// An undo that remembers only attempts that it has seen lets one take effect that comes after it.
func TestStragglerThatIsOvertaken(t *testing.T) {
	b := newBank()
	s := task(func(c workflow.Context, n int) (int, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if f, ok := b.undone[c.Key()]; !ok || c.Fence().Compare(f) > 0 {
			b.add(c, n)
		}
		return n, nil
	}).Undo(func(c workflow.Context, n int) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		var stay []entry
		for _, e := range b.entries[c.Key()] {
			if e.fence.Compare(c.Fence()) > 0 {
				stay = append(stay, e)
			} else if f := b.undone[c.Key()]; e.fence.Compare(f) > 0 {
				b.undone[c.Key()] = e.fence // and not that of the undo
			}
		}
		b.entries[c.Key()] = stay
		return nil
	}).Bind(workflow.Value(5))
	finds(t, "although its undo came before", func(t worktest.T) { worktest.Straggler(t, s, b.effects) })
}

func TestRemake(t *testing.T) {
	for want, f := range map[string]func(c workflow.Context, n int) (int, error){
		"":                   func(c workflow.Context, n int) (int, error) { _, err := c.Put("x", []byte{1}); return 2 * n, err },
		"attempt 2 of pay@1": func(c workflow.Context, n int) (int, error) { return rand.Int(), nil },
		"puts other objects": func(c workflow.Context, n int) (int, error) {
			_, err := c.Put("x", []byte{byte(c.Attempt())})
			return n, err
		},
		"attempt 3 of pay@1 makes": func(c workflow.Context, n int) (int, error) {
			if c.Attempt() > 2 {
				n++
			}
			return n, nil
		},
		"attempt 5 of pay@1 fails": func(c workflow.Context, n int) (int, error) {
			if c.Attempt() == 5 {
				return 0, fmt.Errorf("once")
			}
			return n, nil
		},
	} {
		s := task(f).With(workflow.Deterministic, workflow.NoEffect).Bind(workflow.Value(5))
		finds(t, want, func(t worktest.T) { worktest.Remake(t, s) })
	}
	finds(t, "is not annotated", func(t worktest.T) {
		worktest.Remake(t, task(func(workflow.Context, int) (int, error) { return 1, nil }).Bind(workflow.Value(5)))
	})
	// The order of a map shows.
	keys := workflow.Func0("keys", 1, func(workflow.Context) (all []string, err error) {
		for k := range map[string]bool{"a": true, "b": true, "c": true, "d": true, "e": true, "f": true} {
			all = append(all, k)
		}
		return all, nil
	}).With(workflow.Deterministic)
	finds(t, "keys@1 makes", func(t worktest.T) { worktest.Remake(t, keys.Bind()) })
}

func TestReplay(t *testing.T) {
	first := task(func(_ workflow.Context, n int) (int, error) { return 2 * n, nil })
	recorded, err := workflow.NewTrial(workflow.TrialConfig{}).Do(t.Context(), first.Bind(workflow.Value(5)), workflow.Try{})
	if err != nil {
		t.Fatal(err)
	}
	for want, f := range map[string]func(workflow.Context, int) (int, error){
		"": func(_ workflow.Context, n int) (int, error) { return n + n, nil },
		`makes "6" of recorded inputs; recorded is "10"`: func(_ workflow.Context, n int) (int, error) { return n + 1, nil },
		"fails on recorded inputs":                       func(workflow.Context, int) (int, error) { return 0, fmt.Errorf("no") },
	} {
		finds(t, want, func(t worktest.T) { worktest.Replay(t, workflow.Tasks(task(f)), recorded) })
	}
	text := workflow.Func1("pay", 1, func(workflow.Context, string) (int, error) { return 10, nil }) // its argument has changed
	finds(t, "argument 0 is no string", func(t worktest.T) { worktest.Replay(t, workflow.Tasks(text), recorded) })
	more := workflow.Expand1("pay", 1, func(workflow.Context, int) (workflow.Step[int], error) {
		return first.Bind(workflow.Value(1)), nil
	})
	finds(t, "returns a workflow: true", func(t worktest.T) { worktest.Replay(t, workflow.Tasks(more), recorded) })
	finds(t, "not registered", func(t worktest.T) { worktest.Replay(t, workflow.Tasks(), recorded) })
}

// The recorded attempt was of another run, whose objects have other ids.
func TestReplayWithObjects(t *testing.T) {
	train := func(text string) workflow.F0[workflow.Ref] {
		return workflow.Func0("train", 1, func(c workflow.Context) (workflow.Ref, error) { return c.Put("model", []byte(text)) }).With(workflow.Deterministic)
	}
	recorded, err := workflow.NewTrial(workflow.TrialConfig{Run: "another"}).Do(t.Context(), train("a").Bind(), workflow.Try{})
	if err != nil {
		t.Fatal(err)
	}
	finds(t, "", func(t worktest.T) { worktest.Replay(t, workflow.Tasks(train("a")), recorded) })
	finds(t, "of recorded inputs; recorded is", func(t worktest.T) { worktest.Replay(t, workflow.Tasks(train("b")), recorded) })
}
