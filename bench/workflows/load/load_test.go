package load_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/phalanx-go/phalanx/bench/workflows/load"
)

// fixed is a system whose runs take always the same time, or fail.
type fixed struct {
	takes time.Duration
	fails error
	runs  atomic.Int64
}

func (f *fixed) Chain(ctx context.Context, id string, n int) error {
	f.runs.Add(1)
	time.Sleep(f.takes * time.Duration(n))
	return f.fails
}

func (f *fixed) Pass(ctx context.Context, id string, size int) error { return f.Chain(ctx, id, 2) }

func TestFigures(t *testing.T) {
	want := map[string]float64{"start": 10, "chain": 10, "runs": 25600, "tasks": 6400, "pass1": 20, "pass100": 20}
	for _, p := range load.Parts {
		synctest.Test(t, func(t *testing.T) {
			s, err := load.Measure(t.Context(), &fixed{takes: 10 * time.Millisecond}, p, time.Second)
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Figure(s); got != want[p.Name] {
				t.Errorf("%s: %v %s, want %v", p.Name, got, p.Unit, want[p.Name])
			}
		})
	}
}

func TestAFailedRunEndsTheMeasurement(t *testing.T) {
	broken := errors.New("broken")
	p, err := load.Find("runs")
	if err != nil {
		t.Fatal(err)
	}
	f := &fixed{fails: broken}
	if _, err := load.Measure(t.Context(), f, p, time.Hour); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if n := f.runs.Load(); n > int64(p.Clients) {
		t.Errorf("%d runs were started, by %d clients", n, p.Clients)
	}
}

func TestDiary(t *testing.T) {
	d := load.Diary(filepath.Join(t.TempDir(), "diary"))
	if all, err := d.Entries(); len(all) != 0 || err != nil {
		t.Fatal(all, err)
	}
	for task := range 3 {
		if err := d.Begin(task); err != nil {
			t.Fatal(err)
		}
	}
	e, err := d.Wait(t.Context(), func(e load.Entry) bool { return e.Task == 2 })
	if err != nil || e.Task != 2 || e.At.IsZero() {
		t.Fatal(e, err)
	}
}
