package mistakes

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const right = `package main

import (
	"fmt"
	"os"
)

type list[T any] struct{ all []T }

func (l *list[T]) add(_ int, more ...T) *list[T] {
	l.all = append(l.all, more...)
	return l
}

func (list[T]) name() string { return "list" }

func named(list int) (n int, err error) {
	for {
		if n++; n == list {
			break
		}
	}
	defer func() { n *= 10 }()
	return
}

func pick[K comparable, V any](of map[K]V, k K) (V, bool) { v, ok := of[k]; return v, ok }

func ignores(int, string) { fmt.Print("right ") }

func labels() int {
outer:
	for i := range 3 {
		for range 3 {
			if i == 1 {
				break outer
			}
			continue outer
		}
	}
	return 1
}

const out = 1

func main() {
	ignores(1, "")
	l := new(list[int]).add(0, 1, 2)
	n, err := named(3)
	_, ok := pick(map[string]int{"a": 1}, "a")
	fmt.Fprintln(os.Stdout, l.all, l.name(), n, err, ok, labels())
}
`

// A mistake changes its own text and nothing else; every shape of a function can have a mistake,
// and one function several.
func TestOneProgramMakesEveryMistake(t *testing.T) {
	dir := t.TempDir()
	module := filepath.Join(dir, "internal", "mistakes", "present")
	if err := os.MkdirAll(module, 0o700); err != nil {
		t.Fatal(err)
	}
	switched, err := os.ReadFile("present/present.go")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod":                               "module github.com/phalanx-go/phalanx\n\ngo 1.25\n",
		"main.go":                              right,
		"internal/mistakes/present/present.go": string(switched),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all := []Mistake{
		mistake(Tests, "appends nothing", "main.go", "append(l.all, more...)", "append(l.all, more[1:]...)"),
		mistake(Tests, "has another name", "main.go", `"list"`, `"wrong"`),
		mistake(Tests, "counts too far", "main.go", "n == list", "n > list"),
		mistake(Tests, "forgets to multiply and to pick", "main.go", "n *= 10", "n *= 1", "main.go", "return v, ok", "return v, !ok"),
		mistake(Tests, "ignores wrongly", "main.go", `"right "`, `"wrong "`),
		mistake(Tests, "returns another number", "main.go", "return 1", "return 2"),
		mistake(Tests, "counts and multiplies wrongly", "main.go", "if n++; ", "if n += 2; n > 9 ||", "main.go", "n *= 10", "n *= 100"),
	}
	overlay, err := Overlay(dir, t.TempDir(), all)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "program")
	build := exec.Command("go", "build", "-overlay", overlay, "-o", program, ".")
	build.Dir = dir
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for number, want := range []string{
		"right [1 2] list 30 <nil> true 1",
		"right [2] list 30 <nil> true 1",
		"right [1 2] wrong 30 <nil> true 1",
		"right [1 2] list 40 <nil> true 1",
		"right [1 2] list 3 <nil> false 1",
		"wrong [1 2] list 30 <nil> true 1",
		"right [1 2] list 30 <nil> true 2",
		"right [1 2] list 1000 <nil> true 1",
	} {
		run := exec.Command(program)
		run.Env = append(os.Environ(), switchedOn(number))
		got, err := run.CombinedOutput()
		if err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("mistake %d: %s (%v), want %s", number, got, err, want)
		}
	}
}

// The overlay refuses a mistake whose text is ambiguous, missing or outside of a function.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct{ old, want string }{
		"twice":                  {"int", "times, and not once"},
		"not there":              {"nowhere", "has 0 times"},
		"a constant":             {"out = 1", "outside of the body"},
		"the head of a function": {"named(list int)", "outside of the body"},
		"over two functions":     {"return l\n}\n\nfunc", "outside of the body"},
	} {
		if _, err := rewrite("main.go", []byte(right), map[int][]Edit{1: {{"main.go", c.old, ""}}}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	text := "package main\n\nfunc end() { if p := recover(); p != nil { exit(1) } }\n"
	if _, err := rewrite("main.go", []byte(text), map[int][]Edit{1: {{"main.go", "exit(1)", ""}}}); err == nil || !strings.Contains(err.Error(), "recover") {
		t.Errorf("a function that recovers: %v", err)
	}
}
