package purity_test

import (
	"os"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/phalanx-go/phalanx/internal/purity"
)

// allowedPauses are the only functions of tests that let real time pass, and why no event can
// stand in for the time.
var allowedPauses = map[string]string{
	"cluster/bench_test.go BenchmarkIdle":             "the benchmark measures nodes to which nothing happens",
	"cluster/bent_test.go linger":                     "a slow link takes its time for each frame",
	"cluster/minority_test.go TestASourceThatPauses":  "the source pauses longer than readers wait for a silent owner",
	"internal/poll/poll.go Holds":                     "a test that polls pauses between two looks",
	"internal/httpapi/upload_test.go SetReadDeadline": "a deadline may come while the read sets its own, and must not",
}

func TestTestsDoNotPause(t *testing.T) {
	found, err := purity.Pauses(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if allowedPauses[f] == "" {
			t.Errorf("%s lets time pass: wait for an event, poll with internal/poll, or use the fake time of testing/synctest", f)
		}
	}
	for f := range allowedPauses {
		if !slices.Contains(found, f) {
			t.Errorf("%s may pause, and does not", f)
		}
	}
}

func TestPauses(t *testing.T) {
	for name, c := range map[string]struct {
		file, imports, body string
		pauses              bool
	}{
		"a sleep":              {"a_test.go", "", `time.Sleep(1)`, true},
		"a sleep after a look": {"a_test.go", "", `for ; !ok(); time.Sleep(1) {}`, true},
		"a sleep inside":       {"a_test.go", "", `go func() { defer time.Sleep(1) }()`, true},
		"a tick":               {"a_test.go", "", `for range time.Tick(1) {}`, true},
		"after":                {"a_test.go", "", `<-time.After(1)`, true},
		"nothing comes":        {"a_test.go", "", `select { case <-c: t.Fatal(); case <-time.After(1): }`, true},
		"a bound":              {"a_test.go", "", `select { case <-c: case <-time.After(1): t.Fatal() }`, false},
		"a pause in a bound":   {"a_test.go", "", `select { case <-c: case <-time.After(1): <-time.After(1) }`, true},
		"a bound for many":     {"a_test.go", "", `end := time.After(1); select { case <-c: case <-end: t.Fatal() }`, false},
		"fake time":            {"a_test.go", `import "testing/synctest"`, `time.Sleep(1)`, false},
		"no test":              {"a.go", "", `time.Sleep(1)`, false},
		"what tests call":      {"a.go", `import "testing"`, `time.Sleep(1)`, true},
		"another Sleep":        {"a_test.go", "", `clock.Sleep(1)`, false},
	} {
		tree := fstest.MapFS{"b/" + c.file: {Data: []byte("package b\n" + c.imports + "\nfunc f() { " + c.body + " }")}}
		var want []string
		if c.pauses {
			want = []string{"b/" + c.file + " f"}
		}
		if got, err := purity.Pauses(tree); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
