package workers

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/examples/internal/example"
	"github.com/phalanx-go/phalanx/workflow"
)

// value is what the workers of the tests are given.
type value struct{ Greeting string }

var (
	hello = workflow.Named1[string, string]("hello", 1)
	large = workflow.Named0[workflow.Ref]("large", 1)
)

// has returns the tasks of a worker, and the actors that they use.
func has(v value, name string) (*workflow.Registry, *workflow.ActorKinds) {
	greeters := workflow.Actor("greeter", 1, func(workflow.ActorContext, string) (string, error) { return name, nil })
	greets := workflow.Method(greeters, "greet", func(by string, _ workflow.ActorContext, to string) (string, error) {
		return fmt.Sprint(v.Greeting, " ", to, " from ", by[:1]), nil
	})
	return workflow.Tasks(
		workflow.Func1("hello", 1, func(c workflow.Context, to string) (string, error) {
			a, err := greeters.Spawn(c, "greeter of "+name, "")
			if err != nil {
				return "", err
			}
			return greets.Call(c, a, to)
		}).With(workflow.NoEffect),
		workflow.Func0("large", 1, func(c workflow.Context) (workflow.Ref, error) { return c.Put("large", make([]byte, 1<<20)) }).With(workflow.NoEffect),
	), workflow.Actors(greeters)
}

func TestMain(m *testing.M) {
	example.Child("worker", Is(), func() error { return BeWith(has) })
	os.Exit(m.Run())
}

func crew(t *testing.T, cfg Config) *Crew {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	cfg.Dir = t.TempDir()
	c, err := Start(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func greet(t *testing.T, c *Crew, id, to string) string {
	t.Helper()
	r, err := workflow.Start(c.Context(), c.Node(), id, hello.Bind(workflow.Value(to)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Result(c.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Workers have the tasks and actors that are made of the value; one that is killed is told of and starts again, and runs go on after the
// death of all. A keeper has none.
func TestCrew(t *testing.T) {
	died := make(chan string, 10)
	c := crew(t, Config{Workers: 2, Keepers: 1, Slots: 1, Value: value{"hello"}, Died: func(name, how string) { died <- name + " " + how }})
	if got := greet(t, c, "one", "you"); got != "hello you from w" {
		t.Error(got)
	}
	if all := c.Names(); !slices.Equal(all, []string{"k1", "w1", "w2"}) || !slices.Equal(c.Workers(), all[1:]) {
		t.Error(all)
	}
	if err := c.Kill("w2"); err != nil {
		t.Fatal(err)
	}
	if got := <-died; got != "w2 signal: killed" || c.Deaths() != 1 {
		t.Errorf("%s, %d deaths", got, c.Deaths())
	}
	if err := c.KillAll(); err != nil {
		t.Fatal(err)
	}
	if got := greet(t, c, "two", "me"); got != "hello me from w" || c.Deaths() != 4 {
		t.Errorf("%q, %d deaths", got, c.Deaths())
	}
}

// Bytes counts what nodes have received from each other.
func TestBytes(t *testing.T) {
	c := crew(t, Config{Workers: 1, Disks: 1, Value: value{}})
	before, err := c.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	r, err := workflow.Start(c.Context(), c.Node(), "large", large.Bind())
	if err != nil {
		t.Fatal(err)
	}
	ref, err := r.Result(c.Context())
	if err != nil {
		t.Fatal(err)
	}
	v, err := c.Node().Get(c.Context(), ref.ID())
	if err != nil {
		t.Fatal(err)
	}
	v.Release()
	if after, err := c.Bytes(); err != nil || after < before+1<<20 || after > before+2<<20 {
		t.Errorf("%d bytes after %d: %v", after, before, err)
	}
}

// A crew without a folder keeps no run, and is refused. One whose workers cannot work says why.
func TestCrewsThatCannotBe(t *testing.T) {
	for want, cfg := range map[string]Config{
		"it takes a folder": {Workers: 1},
		"2 of 1 workers":    {Workers: 1, Disks: 2},
		"w1 ends":           {Workers: 1, Disks: 1, Dir: "/dev/null"},
	} {
		c, err := Start(t.Context(), cfg)
		if err == nil {
			c.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
