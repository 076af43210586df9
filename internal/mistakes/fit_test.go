package mistakes

import (
	"path/filepath"
	"testing"
)

// root is the folder of the module.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Every mistake can be made in the code as it is.
func TestTheTableFitsTheCode(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range All() {
		if seen[m.What] || len(m.Edits) == 0 {
			t.Errorf("%q is there twice, or changes nothing", m.What)
		}
		seen[m.What] = true
		if _, err := m.Overlay(root(t), t.TempDir()); err != nil {
			t.Errorf("%s: %v", m.What, err)
		}
	}
}
