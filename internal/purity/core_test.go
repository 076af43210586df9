package purity_test

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx/internal/purity"
)

var module = os.DirFS("../..")

func TestCoresArePure(t *testing.T) {
	checked := 0
	check := func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		src, err := fs.ReadFile(module, name)
		if err != nil {
			return err
		}
		checked++
		found, err := purity.CheckCore(name, src)
		for _, f := range found {
			t.Error(f)
		}
		return err
	}
	for _, dir := range []string{"protocol", "node"} {
		checked = 0
		if err := fs.WalkDir(module, dir, check); err != nil {
			t.Fatal(err)
		}
		if checked == 0 {
			t.Errorf("no core was found in %s", dir)
		}
	}
}

// A checker that finds nothing is worth nothing: each source breaks one rule.
func TestCheckCoreFinds(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"lock", `import "sync"; var mu sync.Mutex`, `import "sync"`},
		{"context", `import "context"; var c context.Context`, `import "context"`},
		{"randomness", `import "math/rand/v2"; var n = rand.Int()`, `import "math/rand/v2"`},
		{"input", `import "os"; var f = os.Args`, `import "os"`},
		{"logger", `import "log/slog"; var l *slog.Logger`, `import "log/slog"`},
		{"protobuf", `import "google.golang.org/protobuf/proto"; var m proto.Message`, `import "google.golang.org/protobuf/proto"`},
		{"raft", `import "go.etcd.io/raft/v3"; var n raft.Node`, `import "go.etcd.io/raft/v3"`},
		{"actor", `import "github.com/asynkron/protoactor-go/actor"; var p actor.PID`, `import "github.com/asynkron/protoactor-go/actor"`},
		{"messages", `import _ "github.com/phalanx-go/phalanx/messages"`, `import "github.com/phalanx-go/phalanx/messages"`},
		{"core", `import _ "github.com/phalanx-go/phalanx/protocol/view"`, `import another core, "github.com/phalanx-go/phalanx/protocol/view"`},
		{"part", `import _ "github.com/phalanx-go/phalanx/protocol/replica"`, `import another core, "github.com/phalanx-go/phalanx/protocol/replica"`},
		{"like", `import _ "github.com/phalanx-go/phalanx/protocol/reducer"`, `import another core, "github.com/phalanx-go/phalanx/protocol/reducer"`},
		{"dot", `import . "time"; var d = Now()`, `import "time" with a dot, which hides what it uses`},
		{"clock", `import "time"; var now = time.Now()`, `use time.Now`},
		{"renamed", `import clock "time"; var now = clock.Now`, `use time.Now`},
		{"instant", `import "time"; type e struct { at time.Time }`, `use time.Time`},
		{"output", `import "fmt"; func f() { fmt.Println() }`, `use fmt.Println`},
		{"builtin", `func f() { println() }`, `print`},
		{"goroutine", `func f() { go f() }`, `start a goroutine`},
		{"channel", `type t struct { c chan int }`, `have a channel`},
		{"direction", `func f(c <-chan int) {}`, `have a channel`},
		{"send", `func f[C any](c C) { c <- 1 }`, `send on a channel`},
		{"receive", `func f[C any](c C) { <-c }`, `receive from a channel`},
		{"select", `func f() { select {} }`, `select`},
		{"init", `func init() {}`, `have an init function`},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, err := purity.CheckCore("protocol/reduce/bad.go", "package reduce; "+c.src)
			if err != nil {
				t.Fatal(err)
			}
			if len(found) != 1 || !strings.HasPrefix(found[0], "protocol/reduce/bad.go:1:") || !strings.HasSuffix(found[0], "a core must not "+c.want) {
				t.Errorf("found %q, want only %q", found, c.want)
			}
		})
	}
}

func TestCheckCoreAllows(t *testing.T) {
	for name, src := range map[string]string{
		"protocol/reduce/a.go":       `import ("cmp"; "fmt"; "time"; "github.com/phalanx-go/phalanx"); func (x X) init() time.Duration { return 3 * time.Second }`,
		"protocol/reduce/d.go":       `import ("github.com/phalanx-go/phalanx/protocol/agenda"; "github.com/phalanx-go/phalanx/protocol/retry")`,
		"protocol/barrier/e.go":      `import "github.com/phalanx-go/phalanx/protocol/replica"`,
		"protocol/reduce/b.go":       `import "github.com/phalanx-go/phalanx/protocol/reduce/tree"`,
		"protocol/reduce/tree/c.go":  `import "maps"; func f(t T) { t.time.Now() }`,
		"protocol/view/replicate.go": `import ("go.etcd.io/raft/v3"; "go.etcd.io/raft/v3/raftpb")`,
	} {
		found, err := purity.CheckCore(name, "package "+path.Base(path.Dir(name))+"; "+src)
		if err != nil || len(found) != 0 {
			t.Errorf("%s: found %q, %v, want nothing", name, found, err)
		}
	}
	if _, err := purity.CheckCore("protocol/reduce/bad.go", "package"); err == nil {
		t.Error("a file that cannot be parsed passed")
	}
}
