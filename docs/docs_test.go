// Package docs has only a test: what the documents name must be there.
package docs

import (
	"encoding/xml"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// tree is what documents may name, by slash-separated paths from the module's
// root.
type tree struct {
	paths    map[string]bool            // files and folders
	anchors  map[string]map[string]bool // document → anchors of its headings
	tests    map[string]map[string]bool // folder → test functions
	packages map[string]map[string]bool // name of a package → exported names, and Type.Member
}

// load walks the module. Packages of one name share their names.
func load(t *testing.T, root string) *tree {
	t.Helper()
	m := &tree{paths: map[string]bool{}, anchors: map[string]map[string]bool{}, tests: map[string]map[string]bool{}, packages: map[string]map[string]bool{}}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) { // gone meanwhile
				return nil
			}
			return err
		}
		if e.IsDir() && name == ".git" {
			return fs.SkipDir
		}
		m.paths[name] = true
		if strings.HasSuffix(name, ".md") {
			text, err := os.ReadFile(path.Join(root, name))
			if err != nil {
				return err
			}
			m.anchors[name] = anchors(string(text))
		}
		if !strings.HasSuffix(name, ".go") || strings.Contains(name, "/testdata/") {
			return nil
		}
		f, _ := parser.ParseFile(token.NewFileSet(), path.Join(root, name), nil, parser.SkipObjectResolution)
		if f != nil && f.Name != nil { // what does not parse is the compiler's to report
			m.file(name, f)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// anchors returns those of the headings of a document, as GitHub makes them.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, h := range title.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		kept := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, h[1])
		all[kept] = true
	}
	return all
}

func (m *tree) file(name string, f *ast.File) {
	into, key := m.packages, f.Name.Name
	if strings.HasSuffix(name, "_test.go") {
		into, key = m.tests, path.Dir(name)
	}
	if into[key] == nil {
		into[key] = map[string]bool{}
	}
	names := into[key]
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names[d.Name.Name] = true
			} else if on := receiver(d.Recv.List[0].Type); on != "" {
				names[on+"."+d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				spec(names, s)
			}
		}
	}
}

func spec(names map[string]bool, s ast.Spec) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		for _, n := range s.Names {
			names[n.Name] = true
		}
	case *ast.TypeSpec:
		names[s.Name.Name] = true
		if st, ok := s.Type.(*ast.StructType); ok {
			for _, field := range st.Fields.List {
				for _, n := range field.Names {
					names[s.Name.Name+"."+n.Name] = true
				}
			}
		}
	}
}

// receiver returns the type's name behind a receiver.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

var (
	fence  = regexp.MustCompile("(?ms)^```.*?^```$")
	span   = regexp.MustCompile("`([^`\n]+)`")
	link   = regexp.MustCompile(`\]\(([^)\s#]*)(?:#([^)]*))?\)`)
	title  = regexp.MustCompile(`(?m)^#+ (.*?) *$`)
	source = regexp.MustCompile(`<(?:img|source)[^>]*?src(?:set)?="([^"]+)()"`)

	likePath = regexp.MustCompile(`^[\w*.-]+(/[\w*.-]+)*/?$`)
	likeTest = regexp.MustCompile(`^(?:([\w/.-]+):)?((?:Test|Fuzz|Benchmark)[A-Z]\w*)$`)
	likeName = regexp.MustCompile(`^([a-z]+)\.([A-Z]\w*)(?:\.([A-Z]\w*))?(?:\{.*\}|\(.*\))?$`)
	files    = []string{".go", ".md", ".txt", ".svg", ".proto", ".mod"}
)

// missing returns what the document at name, with this text, names and is not
// there.
func (m *tree) missing(name, text string) []string {
	var bad []string
	report := func(what, why string) { bad = append(bad, fmt.Sprintf("%s names %s: %s", name, what, why)) }
	text = fence.ReplaceAllString(text, "")
	for _, re := range []*regexp.Regexp{link, source} {
		for _, l := range re.FindAllStringSubmatch(text, -1) {
			target := path.Join(path.Dir(name), l[1])
			if l[1] == "" {
				target = name
			}
			switch heads, ours := m.anchors[target]; {
			case strings.Contains(l[1], ":"):
			case !m.paths[target]:
				report(l[1], "there is no "+target)
			case ours && l[2] != "" && !heads[l[2]]:
				report(l[1], target+" has no heading "+l[2])
			}
		}
	}
	for _, s := range span.FindAllStringSubmatch(text, -1) {
		what := s[1]
		switch {
		case likeTest.MatchString(what):
			p := likeTest.FindStringSubmatch(what)
			if !m.test(p[1], p[2]) {
				report(what, "there is no such test")
			}
		case likeName.MatchString(what):
			p := likeName.FindStringSubmatch(what)
			names, ours := m.packages[p[1]]
			full := p[2]
			if p[3] != "" {
				full += "." + p[3]
			}
			if ours && !names[full] {
				report(what, "package "+p[1]+" has no "+full)
			}
		case likePath.MatchString(what) && isPath(what):
			if !m.path(path.Dir(name), what) {
				report(what, "there is no such file or folder")
			}
		}
	}
	return bad
}

// isPath tells paths from other words in code. Media types and import paths of
// others have a slash too.
func isPath(s string) bool {
	if strings.HasPrefix(s, "NNNN-") { // the pattern of a decision's name
		return false
	}
	if slices.Contains(files, path.Ext(s)) {
		return true
	}
	first, _, deep := strings.Cut(s, "/")
	return deep && !strings.Contains(first, ".") && first != "application" && first != "text"
}

func (m *tree) test(folder, name string) bool {
	if folder != "" {
		return m.tests[folder][name]
	}
	for _, names := range m.tests {
		if names[name] {
			return true
		}
	}
	return false
}

// path finds s from the module's root or from the document's folder; a bare
// file name, and what begins with testdata/, anywhere.
func (m *tree) path(from, s string) bool {
	s = strings.TrimSuffix(s, "/")
	for p := range m.paths {
		for _, pattern := range []string{s, path.Join(from, s)} {
			if ok, err := path.Match(pattern, p); ok && err == nil {
				return true
			}
		}
		if !strings.Contains(s, "/") && path.Base(p) == s {
			return true
		}
		if at := strings.LastIndex(p, "testdata/"); at >= 0 && strings.HasPrefix(s, "testdata/") {
			if ok, err := path.Match(s, p[at:]); ok && err == nil {
				return true
			}
		}
	}
	return false
}

func documents(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/adr/*.md", "docs/spec/*.md"} {
		found, err := fs.Glob(os.DirFS(".."), pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

// TestDocumentsNameWhatExists fails if a document names a file, a test or an
// exported name of this module that is not there.
func TestDocumentsNameWhatExists(t *testing.T) {
	m := load(t, "..")
	for _, name := range documents(t) {
		text, err := os.ReadFile("../" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range m.missing(name, string(text)) {
			t.Error(bad)
		}
	}
}

// TestMissingFinds plants what must be found, beside what must not.
func TestMissingFinds(t *testing.T) {
	m := &tree{
		paths:    map[string]bool{".": true, "a": true, "a/b.go": true, "docs": true, "docs/x.md": true, "docs/p.svg": true},
		anchors:  map[string]map[string]bool{"docs/x.md": anchors("# A b's (1)\n\n```\n# c\n```\n")},
		tests:    map[string]map[string]bool{"a": {"TestB": true}},
		packages: map[string]map[string]bool{"a": {"T": true, "T.F": true}},
	}
	for text, want := range map[string]int{
		"`a/b.go` `b.go` `a/` `a/*.go` [x](x.md) [b](../a/b.go#L1) `TestB` `a:TestB` `a.T` `a.T.F` `a.T{…}`": 0,
		"`io.Reader` `text/plain` `go.etcd.io/raft/v3` [w](https://example.org/x.md) `/v1/x` `1/2 of it`":    0,
		"```\n`a/c.go`\n```":            0,
		"`a/c.go`":                      1,
		"`c.go`":                        1,
		"`c/`":                          1,
		"`a/*.txt`":                     1,
		"[x](x.md#a-bs-1) [y](#a-bs-1)": 0,
		"[x](x.md#c)":                   1,
		"[x](#a)":                       1,
		"[x](y.md)":                     1,
		"![p](q.svg)":                   1,
		`<img src="q.svg">`:             1,
		"`TestC`":                       1,
		"`docs:TestB`":                  1,
		"`a.U`":                         1,
		"`a.T.G`":                       1,
		"`a/c.go` and `a/d.go`":         2,
		"| `a/b.go` | `a:TestC` |":      1,
		"`a/b.go` and [x](../x.md) ":    1,
	} {
		if got := m.missing("docs/x.md", text); len(got) != want {
			t.Errorf("%s: found %q, want %d", text, got, want)
		}
	}
}

// TestPictures checks that each picture is well-formed, fetches nothing, and is
// shown by a document.
func TestPictures(t *testing.T) {
	var shown strings.Builder
	for _, name := range documents(t) {
		text, err := os.ReadFile("../" + name)
		if err != nil {
			t.Fatal(err)
		}
		shown.Write(text)
	}
	pictures, err := fs.Glob(os.DirFS("."), "pictures/*.svg")
	if err != nil || len(pictures) == 0 {
		t.Fatalf("%d pictures: %v", len(pictures), err)
	}
	for _, name := range pictures {
		if !strings.Contains(shown.String(), name) {
			t.Errorf("no document shows %s", name)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		d := xml.NewDecoder(strings.NewReader(string(text)))
		for {
			tok, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
			if el, ok := tok.(xml.StartElement); ok {
				for _, a := range el.Attr {
					if a.Name.Local == "href" || a.Name.Local == "src" {
						t.Errorf("%s fetches %s", name, a.Value)
					}
				}
			}
		}
		if strings.Contains(string(text), "@import") || strings.Contains(string(text), "@font-face") {
			t.Errorf("%s brings a font or a style from elsewhere", name)
		}
	}
}
