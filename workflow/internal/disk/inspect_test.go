package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// files returns what a folder has: names, sizes and times.
func files(t *testing.T, dir string) (all string) {
	t.Helper()
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() && !strings.EqualFold(info.Name(), lockName) {
			all += fmt.Sprintln(path, info.Size(), info.ModTime())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Inspect finds what was written, with the time of that, and changes no file. A folder that a process uses, or that is none, is refused.
func TestInspectChangesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "folder")
	for _, none := range []string{dir, t.TempDir()} {
		if _, err := Inspect(none, Options{}); !errors.Is(err, durable.ErrNotOurs) {
			t.Errorf("%s: %v", none, err)
		}
	}
	d, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	id, err := d.Begin()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	d.Apply(ledger.Create(id), func(err error) { done <- err })
	if err := errors.Join(<-done, d.Join("00000000000000ab"), d.SawGeneration(3)); err != nil {
		t.Fatal(err)
	}
	if _, err := Inspect(dir, Options{}); !errors.Is(err, durable.ErrLocked) {
		t.Errorf("a folder in use: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	names, err := filepath.Glob(filepath.Join(dir, dbName, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		if err := os.Chtimes(name, at, at.Add(-time.Duration(i)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	before := files(t, dir)
	for range 2 {
		c, err := Inspect(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if c.Identity.Cluster != "00000000000000ab" || c.Identity.Opens != 1 || c.Generation != 3 || c.State.Replica != id || c.State.Applied != 1 || !c.Written.Equal(at) {
			t.Errorf("it holds %+v", c)
		}
	}
	if after := files(t, dir); after != before {
		t.Errorf("the files were\n%s, and are\n%s", before, after)
	}
}
