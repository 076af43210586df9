package mistakes

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
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

// Every mistake fits the present code, and the code with all of them is Go.
func TestTheTableFitsTheCode(t *testing.T) {
	all, seen := All(), map[string]bool{}
	for _, m := range all {
		if seen[m.What] || len(m.Edits) == 0 {
			t.Errorf("%q is there twice, or changes nothing", m.What)
		}
		seen[m.What] = true
	}
	dir := t.TempDir()
	if _, err := Overlay(root(t), dir, all); err != nil {
		for _, m := range all {
			if _, err := Overlay(root(t), dir, []Mistake{m}); err != nil {
				t.Errorf("%s: %v", m.What, err)
			}
		}
		return
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		if _, err := parser.ParseFile(token.NewFileSet(), f, nil, 0); err != nil {
			t.Error(err)
		}
	}
}

// switchedOn is the entry of a program's environment that makes it make a mistake.
func switchedOn(number int) string { return present.Variable + "=" + strconv.Itoa(number) }
