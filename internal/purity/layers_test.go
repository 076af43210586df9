package purity_test

import (
	"io/fs"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/phalanx-go/phalanx/internal/purity"
)

func TestDependenciesPointOneWay(t *testing.T) {
	imports, err := purity.Imports(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range purity.CheckLayers(imports) {
		t.Error(found)
	}
	if !slices.Equal(imports["protocol/directory"], []string{".", "protocol/retry"}) {
		t.Errorf("protocol/directory imports %v: the tree was not read", imports["protocol/directory"])
	}
}

func TestCheckLayers(t *testing.T) {
	for _, c := range []struct {
		name    string
		imports map[string][]string
		want    []string
	}{
		{"as planned", map[string][]string{
			".": nil, "protocol/view": {"."}, "messages": {".", "protocol/view"},
			"actors": {".", "messages"}, "storenode/dataplane": {"."}, "storenode/store": {"storenode", "actors", "storenode/dataplane", "messages"},
			"cluster": {"storenode", "storenode/store", "directory", "coordinator", "protocol/view"}, "workflow": {"cluster"},
			"sim": {"protocol/view"}, "cmd/sim": {"sim"}, "cmd/phalanx": {"cluster", "workflow"}, "examples/a": {"cluster"},
		}, nil},
		{"the vocabulary looks up", map[string][]string{".": {"protocol/view"}}, []string{". must not import protocol/view"}},
		{"a core imports an actor", map[string][]string{"protocol/view": {"actors"}}, []string{"protocol/view must not import actors"}},
		{"a core imports a core", map[string][]string{"protocol/view": {"protocol/viewer"}}, []string{"protocol/view must not import protocol/viewer"}},
		{"a core imports a part of itself", map[string][]string{"protocol/view": {"protocol/view/plan"}}, nil},
		{"a core imports what is internal", map[string][]string{"protocol/view": {"internal/logging"}}, []string{"protocol/view must not import internal/logging"}},
		{"the data plane imports its store", map[string][]string{"storenode/dataplane": {"storenode"}}, []string{"storenode/dataplane must not import storenode"}},
		{"an application imports the store's actors", map[string][]string{"examples/a": {"storenode", "storenode/store"}}, []string{"examples/a must not import storenode/store"}},
		{"the store imports the directory's actors", map[string][]string{"storenode/store": {"directory"}}, []string{"storenode/store must not import directory"}},
		{"neighbours", map[string][]string{"directory": {"storenode"}, "barrier": {"group"}},
			[]string{"barrier must not import group", "directory must not import storenode"}},
		{"the simulator imports actors", map[string][]string{"sim": {"actors"}}, []string{"sim must not import actors"}},
		{"the cluster imports the simulator", map[string][]string{"cluster": {"sim"}}, []string{"cluster must not import sim"}},
		{"a way round", map[string][]string{"actors": {"internal/a"}, "internal/a": {"internal/b"}, "internal/b": {"cluster", "internal/a"}},
			[]string{"actors must not import cluster (through internal/b)"}},
		{"nobody's", map[string][]string{"util": nil}, []string{"util has no layer"}},
		{"on nobody's", map[string][]string{"cluster": {"util"}}, []string{"cluster must not import util"}},
	} {
		if got := purity.CheckLayers(c.imports); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestImports(t *testing.T) {
	file := func(src string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(src)} }
	got, err := purity.Imports(fstest.MapFS{
		"a.go":                file(`package phalanx; import "fmt"`),
		"cluster/a.go":        file(`package cluster; import ("` + purity.Module + `"; "` + purity.Module + `/storenode"; "os")`),
		"cluster/b.go":        file(`package cluster; import s "` + purity.Module + `/storenode"`),
		"cluster/a_test.go":   file(`package cluster; import "` + purity.Module + `/workflow"`),
		"cluster/testdata/a":  file(`no Go`),
		"group/testdata/a.go": file(`no Go`),
		".git/a.go":           file(`no Go`),
	})
	want := map[string][]string{".": nil, "cluster": {".", "storenode"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Imports = %v, %v, want %v", got, err, want)
	}
	if _, err := purity.Imports(fstest.MapFS{"a.go": file("no Go")}); err == nil {
		t.Error("a file that cannot be parsed passed")
	}
}

// Each core says in its package's documentation who hosts it, or of which cores it is a part.
func TestCoresNameTheirHosts(t *testing.T) {
	imports, err := purity.Imports(module)
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`(?m)^// (?:Hosts|Used by): (.+)\.$`)
	for dir := range imports {
		if !strings.HasPrefix(dir, "protocol/") && !strings.HasPrefix(dir, "node/") {
			continue
		}
		hosts := named.FindStringSubmatch(documentation(t, dir))
		if hosts == nil {
			t.Errorf("package %s does not say who hosts it: end its documentation with \"Hosts: directory, sim.\"", dir)
			continue
		}
		for host := range strings.SplitSeq(hosts[1], ", ") {
			if !slices.Contains(imports[host], dir) {
				t.Errorf("package %s says that %s hosts it, which does not import it", dir, host)
			}
		}
	}
}

// documentation returns the files of a package up to their package clauses.
func documentation(t *testing.T, dir string) string {
	files, err := fs.Glob(module, dir+"/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("the files of %s: %v, %v", dir, files, err)
	}
	var all strings.Builder
	for _, f := range files {
		src, err := fs.ReadFile(module, f)
		if err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(string(src), "\npackage ")
		all.WriteString(head + "\n")
	}
	return all.String()
}
