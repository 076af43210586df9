package mistakes

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx/internal/mistakes/present"
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
		if _, err := Overlay(root(t), t.TempDir(), []Mistake{m}); err != nil {
			t.Errorf("%s: %v", m.What, err)
		}
	}
}

// What is built with all mistakes is Go.
func TestTheOverlayIsGo(t *testing.T) {
	dir := t.TempDir()
	if _, err := Overlay(root(t), dir, All()); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") {
			continue
		}
		if _, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, f.Name()), nil, 0); err != nil {
			t.Error(err)
		}
	}
}

// switchedOn is what a program's environment says so that it makes a mistake.
func switchedOn(number int) string { return present.Variable + "=" + strconv.Itoa(number) }
