package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// specification is the numbers of the sections and clauses of each document, such as "2" and
// "2.7".
type specification map[string]map[string]bool

var (
	section = regexp.MustCompile(`^## (\d+)\. `)
	clause  = regexp.MustCompile(`^(\d+)\. `)
)

// clauses returns the numbers of a document. A numbered line that is not indented is a clause.
func clauses(text string) map[string]bool {
	all := map[string]bool{}
	in := ""
	for line := range strings.Lines(text) {
		if m := section.FindStringSubmatch(line); m != nil {
			in = m[1]
			all[in] = true
		} else if m := clause.FindStringSubmatch(line); m != nil && in != "" {
			all[in+"."+m[1]] = true
		}
	}
	return all
}

const (
	number  = `\d+(?:\.\d+)?(?: \(\d+\))?` // 2.7, and 7 (12) for invariant 12
	numbers = number + `(?:(?:, | and |–|, and )` + number + `)*`
	named   = `(?:\b(?i:(store|barrier|group|workflow)) )?`
)

var (
	// refs find references; the first group is the document, if it is named, the second the
	// numbers.
	refs = []*regexp.Regexp{
		regexp.MustCompile(named + `(?i:specification),? (?:section )?(` + numbers + `)`),
		regexp.MustCompile(`()(?:^|[\s(])(` + number + `) of the (?i:specification)`),
		regexp.MustCompile(`()races? of section (\d+)`),
	}
	ofNamed    = regexp.MustCompile(`(?:^|[\s(])(` + number + `) of the (store|barrier|group|workflow) specification`)
	bare       = regexp.MustCompile(`\((\d\.\d{1,2}(?:(?:, | and )\d\.\d{1,2})*)\)`) // in a comment
	invariant  = regexp.MustCompile(`(?i:invariants?) \(?(\d+(?:(?:, | and )\d+)*)\)?`)
	bracketed  = regexp.MustCompile(`\((\d{1,2}(?:, \d{1,2})*)\)`) // in a simulator: an invariant
	eachNumber = regexp.MustCompile(`(\d+(?:\.\d+)?)(?: \((\d+)\))?`)
	testNumber = regexp.MustCompile(`^(?:Test|Benchmark)\w*?\D(\d)_(\d+)$`)
	firstCell  = regexp.MustCompile(`^\| *([^|]*?) *\|`)
	heading    = regexp.MustCompile(`^(?:(barrier|group|workflow) )?specification$`)
)

// ofOthers are the folders whose protocols are not the store's: there a reference names its
// document.
var ofOthers = []string{"barrier", "protocol/barrier", "sim/barriers", "group", "protocol/group", "sim/groups", "sim/workflows",
	"workflow", "workflow/worktest", "workflow/internal/disk", "protocol/workflow", "protocol/ledger", "internal/durable", "internal/durable/memory"}

// home is the document of the invariants that a simulator checks, and their section.
func home(folder string) (document, section string) {
	switch folder {
	case "sim":
		return "store", "7"
	case "sim/barriers":
		return "barrier", "7"
	case "sim/groups":
		return "group", "5"
	}
	return "", ""
}

// unresolved returns what text, of a file in folder, refers to and is not there.
func (s specification) unresolved(folder, text string) []string {
	var bad []string
	text = strings.Join(strings.Fields(text), " ")
	if !strings.Contains(text, "pecification") && !strings.Contains(text, "of section") && !strings.Contains(text, "nvariant") {
		return nil // most texts
	}
	look := func(document, list, within string) {
		if document = strings.ToLower(document); document == "" {
			document = "store"
		}
		for _, m := range eachNumber.FindAllStringSubmatch(list, -1) {
			for _, n := range []string{m[1], m[1] + "." + m[2]} {
				if within != "" {
					n = within + "." + n
				}
				if !strings.HasSuffix(n, ".") && !s[document][n] {
					bad = append(bad, fmt.Sprintf("the %s specification has no %s", document, n))
				}
			}
		}
	}
	for _, re := range refs {
		for _, m := range re.FindAllStringSubmatch(text, -1) {
			if m[1] == "" && slices.Contains(ofOthers, folder) {
				bad = append(bad, fmt.Sprintf("%q does not say which specification it means", m[0]))
				continue
			}
			look(m[1], m[2], "")
		}
	}
	for _, m := range ofNamed.FindAllStringSubmatch(text, -1) {
		look(m[2], m[1], "")
	}
	for _, m := range invariant.FindAllStringSubmatch(text, -1) {
		look("store", m[1], "7")
	}
	return bad
}

// inComment is unresolved for a comment, where numbers stand in brackets too.
func (s specification) inComment(folder, text string) []string {
	bad := s.unresolved(folder, text)
	if !strings.Contains(text, "(") {
		return bad
	}
	for _, m := range bare.FindAllStringSubmatch(text, -1) {
		bad = append(bad, s.unresolved("", "specification "+m[1])...)
	}
	return append(bad, s.inSimulator(folder, text)...)
}

// inSimulator looks at the invariants that a simulator's comments and messages name by "(13)".
func (s specification) inSimulator(folder, text string) []string {
	var bad []string
	document, section := home(folder)
	if document == "" {
		return nil
	}
	for _, m := range bracketed.FindAllStringSubmatch(text, -1) {
		for _, n := range strings.Split(m[1], ", ") {
			if !s[document][section+"."+n] {
				bad = append(bad, fmt.Sprintf("(%s): the %s specification has no %s.%s", n, document, section, n))
			}
		}
	}
	return bad
}

// inFile returns what a file, Go, Markdown or a script, refers to and is not there.
func (s specification) inFile(t *testing.T, name, text string) []string {
	folder := path.Dir(name)
	switch path.Ext(name) {
	case ".go":
		return s.inGo(t, folder, text)
	case ".txt":
		var comments strings.Builder
		for line := range strings.Lines(text) {
			if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "#"); ok {
				comments.WriteString(rest + " ")
			} else {
				comments.WriteString("\n\n. ")
			}
		}
		return s.inComment(strings.TrimSuffix(folder, "/testdata"), comments.String())
	}
	return append(s.unresolved(folder, text), s.inTables(text)...)
}

func (s specification) inGo(t *testing.T, folder, text string) []string {
	f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var bad []string
	for _, c := range f.Comments {
		bad = append(bad, s.inComment(folder, c.Text())...)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if m := testNumber.FindStringSubmatch(n.Name.Name); m != nil && !s["store"][m[1]+"."+m[2]] {
				bad = append(bad, n.Name.Name+": the store specification has no "+m[1]+"."+m[2])
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING && strings.HasPrefix(n.Value, `"(`) {
				bad = append(bad, s.inSimulator(folder, n.Value)...)
			}
		}
		return true
	})
	return bad
}

// inTables looks at tables whose first column is headed "specification".
func (s specification) inTables(text string) []string {
	var bad []string
	document, row := "", 0
	for line := range strings.Lines(text) {
		m := firstCell.FindStringSubmatch(line)
		switch {
		case m == nil:
			row = 0
			continue
		case row == 0:
			document = "-"
			if h := heading.FindStringSubmatch(m[1]); h != nil {
				document = h[1]
			}
		case row > 1 && document != "-":
			bad = append(bad, s.unresolved("", strings.TrimSpace(document+" specification "+m[1]))...)
		}
		row++
	}
	return bad
}

func specificationOf(t *testing.T) specification {
	t.Helper()
	s := specification{}
	for _, name := range []string{"store", "barrier", "group", "workflow"} {
		text, err := os.ReadFile("spec/" + name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		s[name] = clauses(string(text))
	}
	return s
}

// TestReferencesResolve fails if a comment, a test's name, a script or a document refers to a
// clause of the specification that is not there, or a simulator to an invariant.
func TestReferencesResolve(t *testing.T) {
	s := specificationOf(t)
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (name == ".git" || strings.HasPrefix(path.Base(name), "_")):
			return fs.SkipDir
		case e.IsDir() || !slices.Contains([]string{".go", ".md", ".txt"}, path.Ext(name)) || name == "docs/spec_test.go":
			return nil
		}
		text, err := os.ReadFile("../" + name)
		if err != nil {
			return err
		}
		for _, bad := range s.inFile(t, name, string(text)) {
			t.Errorf("%s: %s", name, bad)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestUnresolvedFinds has references that are there beside those that are not.
func TestUnresolvedFinds(t *testing.T) {
	s := specification{
		"store":   clauses("## 1. A\n\n1. x\n2. y\n   1. z\n\n## 7. B\n\n1. p\n\nText:\n\n2. q\n"),
		"barrier": clauses("## 7. C\n\n1. x\n"),
		"group":   clauses("1. before\n\n## 2. D\n"),
	}
	if got := slices.Sorted(maps.Keys(s["store"])); !slices.Equal(got, []string{"1", "1.1", "1.2", "7", "7.1", "7.2"}) {
		t.Fatalf("store: %v", got)
	}
	for _, c := range []struct {
		file, text string
		want       int
	}{
		{"a/a.md", "specification 1.2, the specification, Specification 7 (2), invariants 1 and 2", 0},
		{"a/a.md", "section 7 of the specification, 1.2 of the specification, a race of section 7", 0},
		{"a/a.md", "specification 1.3", 1},
		{"a/a.md", "specification 1.1, 1.3 and 1.4", 2},
		{"a/a.md", "specification\n1.3", 1},
		{"a/a.md", "specification 2.1–2.3", 2},
		{"a/a.md", "specification 7 (3)", 1},
		{"a/a.md", "invariant 3", 1},
		{"a/a.md", "2.1 of the specification", 1},
		{"a/a.md", "races of section 8", 1},
		{"a/a.md", "barrier specification 7.1, group specification 2", 0},
		{"a/a.md", "barrier specification 1.1", 1},
		{"a/a.md", "1.1 of the barrier specification", 1},
		{"a/a.md", "| specification | x |\n|---|---|\n| 1.1, 1.2 | y |\n\n| other | x |\n|---|---|\n| 9.9 | y |", 0},
		{"a/a.md", "| specification | x |\n|---|---|\n| 1.1 | y |\n| 9.9 | y |", 1},
		{"a/a.md", "| barrier specification | x |\n|---|---|\n| 1.1 | y |", 1},
		{"a/a.go", "package a\n\n// f is 1.3 times (1.2) as long (1.1 and 7.1).\nfunc f() {}", 0},
		{"a/a.go", "package a\n\n// f (specification\n// 1.3).\nfunc f() {}", 1},
		{"a/a.go", "package a\n\n// f (1.3).\nfunc f() {}", 1},
		{"a/a.go", "package a\n\nfunc TestB1_2() {}\n\nfunc TestB1_3() {}", 1},
		{"barrier/a.go", "package a\n\n// f: barrier specification 7.1.\nfunc f() {}", 0},
		{"barrier/a.go", "package a\n\n// f: specification 7.1.\nfunc f() {}", 1},
		{"sim/a.go", "package a\n\n// f checks (1).\nfunc f() { g(\"(1, 2) %d\") }", 0},
		{"sim/a.go", "package a\n\n// f checks (3).\nfunc f() { g(\"(2, 4) %d\") }", 2},
		{"sim/barriers/a.go", "package a\n\nfunc f() { g(\"(2) %d\") }", 1},
		{"a/testdata/a.txt", "# Specification 1.2:\n# text (1.1).\nx 9.9\n", 0},
		{"a/testdata/a.txt", "# Specification\n# 1.3: (1.4).\n", 2},
	} {
		if got := s.inFile(t, c.file, c.text); len(got) != c.want {
			t.Errorf("%s, %q: found %q, want %d", c.file, c.text, got, c.want)
		}
	}
}
