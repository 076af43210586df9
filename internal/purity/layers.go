package purity

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A layer is a set of folders, with all below them, that do not import each
// other.
type layer struct {
	folders []string
	below   []string // the only folders it may import; nil: the folders of all layers before it
	users   []string // the only folders that may import it; nil: those of all layers after it
}

// layers are in the order in which they may be imported; "." is the vocabulary.
// The cores of protocol see nothing but the vocabulary, those of node these as well, and the
// simulator drives all of them without actors. Applications import a store's messages, but not its actors. A folder under internal/ has no layer of its own: its imports
// count as imports of each package that imports it.
var layers = []layer{
	{folders: []string{"."}},
	{folders: []string{"protocol"}},
	{folders: []string{"node"}},
	{folders: []string{"messages"}},
	{folders: []string{"actors", "storenode/dataplane"}},
	{folders: []string{"directory", "storenode"}},
	{folders: []string{"storenode/store"}, below: []string{".", "protocol", "node", "messages", "actors", "storenode/dataplane", "storenode"},
		users: []string{"coordinator", "cluster"}},
	{folders: []string{"coordinator"}},
	{folders: []string{"cluster"}},
	{folders: []string{"barrier"}},
	{folders: []string{"group", "leader", "workflow"}},
	{folders: []string{"sim"}, below: []string{".", "protocol", "node", "messages"}},
	{folders: []string{"cmd", "examples", "bench"}},
}

// place returns the folder of layers that holds dir, and that layer; the
// longest folder wins. It returns "" if there is none.
func place(dir string) (folder string, at layer) {
	for _, l := range layers {
		for _, f := range l.folders {
			if (dir == f || strings.HasPrefix(dir, f+"/")) && len(f) > len(folder) {
				folder, at = f, l
			}
		}
	}
	return folder, at
}

// allowed returns which folders the layer that holds folder may import.
func allowed(folder string, at layer) []string {
	if at.below != nil {
		return at.below
	}
	var all []string
	for _, l := range layers {
		if slices.Contains(l.folders, folder) {
			break
		}
		if l.users == nil || slices.Contains(l.users, folder) {
			all = append(all, l.folders...)
		}
	}
	return all
}

// Imports returns, for each folder of tree that has Go files, which packages of
// this module its files import, as folders, sorted. Test files do not count: a
// test may look at its package from above.
func Imports(tree fs.FS) (map[string][]string, error) {
	found := map[string][]string{}
	err := fs.WalkDir(tree, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if base := e.Name(); base == "testdata" || base != "." && strings.HasPrefix(base, ".") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ImportsOnly)
		if err != nil {
			return err
		}
		dir := path.Dir(name)
		ours := found[dir]
		for _, imp := range f.Imports {
			p, _ := strconv.Unquote(imp.Path.Value) // the parser has checked it
			if p == Module {
				ours = append(ours, ".")
			} else if folder, ok := strings.CutPrefix(p, Module+"/"); ok {
				ours = append(ours, folder)
			}
		}
		found[dir] = ours
		return nil
	})
	for dir, all := range found {
		slices.Sort(all)
		found[dir] = slices.Compact(all)
	}
	return found, err
}

// CheckLayers returns the imports that point the wrong way, sorted, as lines
// "folder must not import folder", and the folders that have no layer.
func CheckLayers(imports map[string][]string) []string {
	var found []string
	for _, dir := range slices.Sorted(maps.Keys(imports)) {
		if internal(dir) {
			continue
		}
		folder, at := place(dir)
		if folder == "" {
			found = append(found, fmt.Sprintf("%s has no layer", dir))
			continue
		}
		may := allowed(folder, at)
		for target, via := range reach(dir, imports) {
			if to, _ := place(target); to != folder && !slices.Contains(may, to) || (folder == "protocol" || folder == "node") && to == folder && !uses(dir, target) {
				found = append(found, fmt.Sprintf("%s must not import %s%s", dir, target, via))
			}
		}
		if folder == "." || folder == "protocol" || folder == "node" {
			for _, target := range imports[dir] {
				if internal(target) {
					found = append(found, fmt.Sprintf("%s must not import %s", dir, target))
				}
			}
		}
	}
	slices.Sort(found)
	return found
}

// internal reports whether dir lies under internal/.
func internal(dir string) bool { return strings.HasPrefix(dir, "internal/") }

// nested reports whether one of a and b lies in the other.
func nested(a, b string) bool {
	return strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}

// reach returns the folders with a layer that dir imports, directly or through
// folders under internal/, each with a note of the way.
func reach(dir string, imports map[string][]string) map[string]string {
	found, seen := map[string]string{}, map[string]bool{}
	var visit func(from, via string)
	visit = func(from, via string) {
		for _, target := range imports[from] {
			switch {
			case !internal(target):
				if _, ok := found[target]; !ok {
					found[target] = via
				}
			case !seen[target]:
				seen[target] = true
				visit(target, " (through "+target+")")
			}
		}
	}
	visit(dir, "")
	return found
}
