// Package purity checks promises about the module's code that the compiler does
// not: the protocol cores are pure (core.go), dependencies point one way
// (layers.go), and tests do not sleep (pauses.go). Its tests run all checks over the
// whole module; go/parser is enough, so that code which does not build yet can be checked.
package purity

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Module is the module's path, which is also the import path of the vocabulary.
const Module = "github.com/phalanx-go/phalanx"

// pure are the packages that every core may import besides the vocabulary:
// they neither know the time or the machine nor start anything.
var pure = []string{"bytes", "cmp", "container/heap", "encoding/binary", "errors", "fmt", "hash/fnv", "iter", "maps", "math", "math/bits",
	"slices", "sort", "strconv", "strings", "time"}

// shared are packages that every core may import, and as pure as cores: a queue, and when
// something is sent again.
var shared = []string{"protocol/agenda", "protocol/retry"}

// parts are the packages from which single cores are built, besides the ones that all share.
var parts = map[string][]string{
	"protocol/barrier": {"protocol/replica"},
}

// uses reports whether the core in dir may import the core target.
func uses(dir, target string) bool {
	return slices.Contains(shared, target) || slices.Contains(parts[dir], target) || nested(dir, target)
}

// exempt are the imports that single cores may have besides. The view is
// decided by etcd's raft, whose RawNode is a pure core too.
var exempt = map[string][]string{
	"protocol/ledger": {"go.etcd.io/raft/v3/raftpb"},
	"protocol/view": {"encoding/json", "go.etcd.io/raft/v3", "go.etcd.io/raft/v3/quorum", "go.etcd.io/raft/v3/raftpb",
		"go.etcd.io/raft/v3/tracker", "google.golang.org/protobuf/proto"},
}

// only lists, for packages that are pure in part, the names that may be used.
var only = map[string][]string{
	"time": {"Duration", "Nanosecond", "Microsecond", "Millisecond", "Second", "Minute", "Hour"},
	"fmt":  {"Append", "Appendf", "Appendln", "Errorf", "Formatter", "Fprint", "Fprintf", "Fprintln", "GoStringer", "Sprint", "Sprintf", "Sprintln", "State", "Stringer"},
}

// CheckCore returns the impure parts of the file name of a core, as lines
// "name:line:column: what". The name is relative to the module's root; src is
// as for parser.ParseFile.
func CheckCore(name string, src any) ([]string, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, 0)
	if err != nil {
		return nil, err
	}
	c := &checker{fset: fset, dir: path.Dir(name), imported: map[string]string{}}
	for _, imp := range f.Imports {
		c.imports(imp)
	}
	ast.Inspect(f, c.node)
	return c.found, nil
}

type checker struct {
	dir      string // of the core
	fset     *token.FileSet
	imported map[string]string // the name of a package in this file → its path
	found    []string
}

func (c *checker) report(n ast.Node, format string, args ...any) {
	c.found = append(c.found, fmt.Sprintf("%s: a core must not ", c.fset.Position(n.Pos()))+fmt.Sprintf(format, args...))
}

func (c *checker) imports(imp *ast.ImportSpec) {
	p, _ := strconv.Unquote(imp.Path.Value) // the parser has checked it
	switch {
	case imp.Name != nil && imp.Name.Name == ".":
		c.report(imp, "import %q with a dot, which hides what it uses", p)
	case strings.HasPrefix(p, Module+"/protocol/") && uses(c.dir, strings.TrimPrefix(p, Module+"/")):
	case strings.HasPrefix(p, Module+"/protocol/") && strings.HasPrefix(c.dir, "node/"): // a node has cores
	case strings.HasPrefix(p, Module+"/protocol/"), strings.HasPrefix(p, Module+"/node/"):
		c.report(imp, "import another core, %q", p)
	case p != Module && !slices.Contains(pure, p) && !slices.Contains(exempt[c.dir], p):
		c.report(imp, "import %q", p)
	}
	name := path.Base(p)
	if imp.Name != nil {
		name = imp.Name.Name
	}
	c.imported[name] = p
}

func (c *checker) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.SelectorExpr:
		x, ok := n.X.(*ast.Ident)
		if !ok {
			break
		}
		if names, ok := only[c.imported[x.Name]]; ok && !slices.Contains(names, n.Sel.Name) {
			c.report(n, "use %s.%s", c.imported[x.Name], n.Sel.Name)
		}
	case *ast.GoStmt:
		c.report(n, "start a goroutine")
	case *ast.ChanType:
		c.report(n, "have a channel")
	case *ast.SendStmt:
		c.report(n, "send on a channel")
	case *ast.SelectStmt:
		c.report(n, "select")
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			c.report(n, "receive from a channel")
		}
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "print" || f.Name == "println") {
			c.report(n, "print")
		}
	case *ast.FuncDecl:
		if n.Name.Name == "init" && n.Recv == nil {
			c.report(n, "have an init function")
		}
	}
	return true
}
