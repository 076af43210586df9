package workflow

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/ledger"
	"github.com/phalanx-go/phalanx/workflow/internal/disk"
)

// used makes a folder that has a part of a ledger of three disks, of which it knows no other one; and what more is asked of it.
func used(t *testing.T, cluster string, more func(d *disk.Disk, replica uint64)) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "folder")
	d, err := disk.Open(dir, disk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	id, err := d.Begin()
	if err != nil {
		t.Fatal(err)
	}
	w := ledger.Create(id)
	w.Conf.Voters = append(w.Conf.Voters, 77<<16|1, 88<<16|1)
	done := make(chan error, 1)
	d.Apply(w, func(err error) { done <- err })
	if err := errors.Join(<-done, d.Join(cluster)); err != nil {
		t.Fatal(err)
	}
	if more != nil {
		more(d, id)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// RecoverLedger refuses a ledger that it cannot recover, says what to do, and changes nothing; else the folder has the next generation.
func TestRecoverRefuses(t *testing.T) {
	one, other := used(t, "00000000000000aa", nil), used(t, "00000000000000bb", nil)
	outdated := used(t, "00000000000000aa", func(d *disk.Disk, _ uint64) {
		if err := d.SawGeneration(5); err != nil {
			t.Fatal(err)
		}
	})
	twin := filepath.Join(t.TempDir(), "twin")
	if err := os.CopyFS(twin, os.DirFS(one)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		dirs []string
		kind phalanx.Kind
		says string
	}{
		"no folder":           {nil, phalanx.ErrInvalid, "no folder is given"},
		"not there":           {[]string{filepath.Join(one, "no")}, phalanx.ErrNotFound, "no node has used this folder"},
		"two ledgers":         {[]string{one, other}, phalanx.ErrInvalid, "belong to two ledgers"},
		"a copy":              {[]string{one, twin}, phalanx.ErrInvalid, "one of them is a copy"},
		"recovered elsewhere": {[]string{outdated}, phalanx.ErrRefused, "recovered without this disk"},
	} {
		_, err := RecoverLedger(t.Context(), c.dirs...)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "recover ledger: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := RecoverLedger(canceled, one); !errors.Is(err, phalanx.ErrCanceled) {
		t.Errorf("canceled: %v", err)
	}

	for range 2 { // a look changes nothing
		s, err := SurveyLedger(t.Context(), one)
		if err != nil || s.Best != 0 || s.Generation != 0 || len(s.Disks) != 3 || strings.Join(s.Missing, " ") != "4d 58" || !s.Folders[0].Holds || s.Folders[0].Index != 1 {
			t.Errorf("%+v, %v", s, err)
		}
	}
	s, err := RecoverLedger(t.Context(), one)
	if err != nil || s.Generation == 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	again, err := SurveyLedger(t.Context(), one)
	if !errors.Is(err, phalanx.ErrRefused) || !strings.Contains(err.Error(), "the only disk") || again.Folders[0].Generation != s.Generation {
		t.Errorf("%+v, %v", again, err)
	}
}
