package purity

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Pauses returns the functions of tests that let time pass, as "file function", sorted. They call
// time.Sleep or time.Tick, or receive from time.After and do nothing then. A time.After that
// bounds a wait is no pause: its case of a select fails the test.
//
// The functions of files that import testing/synctest are left out: their time is not real. Code
// that imports testing counts as a test, in whatever file it is.
func Pauses(tree fs.FS) ([]string, error) {
	var found []string
	err := fs.WalkDir(tree, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := e.Name(); e.IsDir() && (base == "testdata" || base != "." && strings.HasPrefix(base, ".")) {
			return fs.SkipDir
		}
		if e.IsDir() || path.Ext(name) != ".go" {
			return nil
		}
		src, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if imports(f, "testing/synctest") || !strings.HasSuffix(name, "_test.go") && !imports(f, "testing") {
			return nil
		}
		for _, d := range f.Decls {
			what := "(a variable)"
			if fn, ok := d.(*ast.FuncDecl); ok {
				what = fn.Name.Name
			}
			if pauses(d) {
				found = append(found, name+" "+what)
			}
		}
		return nil
	})
	slices.Sort(found)
	return found, err
}

func imports(f *ast.File, path string) bool {
	return slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == strconv.Quote(path) })
}

// pauses reports whether a declaration lets time pass.
func pauses(d ast.Decl) (found bool) {
	bounds := map[ast.Stmt]bool{} // receives that begin a case which does something
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CommClause:
			bounds[n.Comm] = len(n.Body) > 0
		case *ast.ExprStmt:
			receive, ok := n.X.(*ast.UnaryExpr)
			found = found || ok && calls(receive.X, "After") && !bounds[n]
		case *ast.CallExpr:
			found = found || calls(n, "Sleep", "Tick")
		}
		return true
	})
	return found
}

// calls reports whether x is a call of one of these functions of package time.
func calls(x ast.Expr, names ...string) bool {
	call, ok := x.(*ast.CallExpr)
	if !ok {
		return false
	}
	fn, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := fn.X.(*ast.Ident)
	return ok && pkg.Name == "time" && slices.Contains(names, fn.Sel.Name)
}
