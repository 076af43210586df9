package single

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/internal/leaks"
	"github.com/phalanx-go/phalanx/protocol/ledger"
	"github.com/phalanx-go/phalanx/workflow/internal/disk"
)

func TestMain(m *testing.M) { leaks.VerifyTestMain(m) }

func open(t testing.TB, dir string) *disk.Disk {
	t.Helper()
	d, err := disk.Open(dir, disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// run has f use the tenures of a log on a folder, and then ends it.
func run(t testing.TB, dir string, f func(tenures <-chan durable.Tenure, giveUp chan<- struct{})) {
	t.Helper()
	d := open(t, dir)
	defer func() { _ = d.Close() }()
	l, err := New(d)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	tenures, giveUp, ended := make(chan durable.Tenure), make(chan struct{}), make(chan error)
	go func() {
		ended <- l.Run(ctx, func(n durable.Tenure) {
			select {
			case tenures <- n:
			case <-ctx.Done():
				return
			}
			select {
			case <-n.Done():
			case <-giveUp:
			}
		})
	}()
	f(tenures, giveUp)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func appendRow(t *testing.T, n durable.Tenure, key string) {
	t.Helper()
	done := make(chan error, 1)
	n.Append([]ledger.Row{{Key: key, Value: []byte("x")}}, func(err error) { done <- err })
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func keys(t *testing.T, n durable.Tenure) (all []string) {
	t.Helper()
	if err := n.Scan("", func(r ledger.Row) bool { all = append(all, r.Key); return true }); err != nil {
		t.Fatal(err)
	}
	return all
}

// What was appended is there in later tenures, of the same process and after a restart; each has a greater epoch.
func TestTenures(t *testing.T) {
	dir := t.TempDir()
	var want []string
	last := uint64(0)
	for start := range 2 {
		run(t, dir, func(tenures <-chan durable.Tenure, giveUp chan<- struct{}) {
			for i := range 2 {
				n := <-tenures
				if n.Epoch() <= last {
					t.Errorf("epoch %d follows %d", n.Epoch(), last)
				}
				last = n.Epoch()
				for k := range 3 {
					key := fmt.Sprintf("%d/%d/%d", start, i, k)
					want = append(want, key)
					appendRow(t, n, key)
				}
				if got := keys(t, n); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("rows %v, want %v", got, want)
				}
				sure := make(chan error, 1)
				n.Confirm(func(err error) { sure <- err })
				if err := <-sure; err != nil {
					t.Error(err)
				}
				if i == 0 {
					giveUp <- struct{}{}
					<-n.Done()
					n.Append([]ledger.Row{{Key: "late", Value: []byte("x")}}, func(err error) { sure <- err })
					if err := <-sure; !errors.Is(err, durable.ErrFenced) {
						t.Errorf("an append after the tenure: %v", err)
					}
				}
			}
		})
	}
}

// Rows that cannot be are refused, and those behind them are not.
func TestInvalidAppendTakesNothingWithIt(t *testing.T) {
	run(t, t.TempDir(), func(tenures <-chan durable.Tenure, _ chan<- struct{}) {
		n := <-tenures
		done := make(chan error, 2)
		n.Append([]ledger.Row{{Key: "", Value: []byte("x")}}, func(err error) { done <- err })
		if err := <-done; !errors.Is(err, durable.ErrInvalid) {
			t.Errorf("a row without a key: %v", err)
		}
		appendRow(t, n, "a")
	})
}
