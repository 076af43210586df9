package mistakes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// switches is the package that says which mistake is present.
const switches = "github.com/phalanx-go/phalanx/internal/mistakes/present"

// Overlay writes into dir an overlay for go's -overlay, and returns its path. With it the code
// under root builds with all those mistakes, each of which waits for its switch.
func Overlay(root, dir string, all []Mistake) (string, error) {
	edits := map[string]map[int][]Edit{} // by file and number
	for i, m := range all {
		for _, e := range m.Edits {
			if edits[e.File] == nil {
				edits[e.File] = map[int][]Edit{}
			}
			edits[e.File][i+1] = append(edits[e.File][i+1], e)
		}
	}
	replace := map[string]string{}
	for file, byNumber := range edits {
		from := filepath.Join(root, file)
		text, err := os.ReadFile(from)
		if err != nil {
			return "", err
		}
		if text, err = rewrite(from, text, byNumber); err != nil {
			return "", err
		}
		to := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(to, text, 0o600); err != nil {
			return "", err
		}
		replace[from] = to
	}
	data, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, data, 0o600)
}

// source is a file to rewrite.
type source struct {
	name string
	text []byte
	fset *token.FileSet
	file *ast.File

	insert map[int]string // by offset
	added  strings.Builder
}

// rewrite returns a file with an added variant of a function for each mistake in it. The
// function itself calls the variant if the mistake is present.
func rewrite(name string, text []byte, edits map[int][]Edit) ([]byte, error) {
	s := &source{name: name, text: text, fset: token.NewFileSet(), insert: map[int]string{}}
	var err error
	if s.file, err = parser.ParseFile(s.fset, name, text, parser.SkipObjectResolution); err != nil {
		return nil, err
	}
	s.put(s.file.Name.End(), "; import _present "+`"`+switches+`"`)
	for _, number := range slices.Sorted(maps.Keys(edits)) {
		wrong := map[*ast.FuncDecl][]Edit{}
		for _, e := range edits[number] {
			f, err := s.function(e.Old)
			if err != nil {
				return nil, err
			}
			wrong[f] = append(wrong[f], e)
		}
		for _, f := range slices.SortedFunc(maps.Keys(wrong), func(a, b *ast.FuncDecl) int { return int(a.Pos() - b.Pos()) }) {
			s.variant(number, f, wrong[f])
		}
	}
	var out bytes.Buffer
	at := 0
	for _, offset := range slices.Sorted(maps.Keys(s.insert)) {
		out.Write(text[at:offset])
		out.WriteString(s.insert[offset])
		at = offset
	}
	out.Write(text[at:])
	out.WriteString(s.added.String())
	return out.Bytes(), nil
}

func (s *source) offset(p token.Pos) int { return s.fset.Position(p).Offset }

// put inserts text at p, after earlier insertions there.
func (s *source) put(p token.Pos, text string) { s.insert[s.offset(p)] += text }

// function returns the function that has text in its body. The file must have the text once.
func (s *source) function(text string) (*ast.FuncDecl, error) {
	if n := strings.Count(string(s.text), text); n != 1 {
		return nil, fmt.Errorf("%s has %d times, and not once, the text\n%s", s.name, n, text)
	}
	from := strings.Index(string(s.text), text)
	for _, d := range s.file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if ok && f.Body != nil && s.offset(f.Body.Lbrace) < from && from+len(text) <= s.offset(f.Body.Rbrace) {
			if recovers(f) {
				return nil, fmt.Errorf("%s: %s calls recover, which its variant could not", s.name, f.Name.Name)
			}
			return f, nil
		}
	}
	return nil, fmt.Errorf("%s has outside of the body of a function the text\n%s", s.name, text)
}

// recovers reports whether f itself ends a panic, as a deferred function does.
func recovers(f *ast.FuncDecl) bool {
	found := false
	ast.Inspect(f.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if ok {
			name, ok := call.Fun.(*ast.Ident)
			found = found || ok && name.Name == "recover"
		}
		_, inner := n.(*ast.FuncLit)
		return !inner
	})
	return found
}

// variant adds a copy of f with the edits under another name, and a call of it at the begin
// of f.
func (s *source) variant(number int, f *ast.FuncDecl, edits []Edit) {
	call := fmt.Sprintf("mistake%d%s", number, f.Name.Name)
	body := s.between(f.Body.Lbrace, f.Body.End())
	for _, e := range edits {
		body = strings.Replace(body, e.Old, e.New, 1)
	}
	fmt.Fprintf(&s.added, "\n//line %s:%d\n%s%s%s%s\n", s.name, s.fset.Position(f.Pos()).Line,
		s.between(f.Type.Func, f.Name.Pos()), call, s.between(f.Name.End(), f.Body.Lbrace), body)

	if f.Type.TypeParams != nil {
		call += "[" + strings.Join(s.names(f.Type.TypeParams, ""), ", ") + "]"
	}
	if f.Recv != nil {
		call = s.names(f.Recv, "r")[0] + "." + call
	}
	args := strings.Join(s.names(f.Type.Params, "p"), ", ")
	if n := len(f.Type.Params.List); n > 0 {
		if _, variadic := f.Type.Params.List[n-1].Type.(*ast.Ellipsis); variadic {
			args += "..."
		}
	}
	result, end := "return ", ""
	if f.Type.Results == nil {
		result, end = "", "; return"
	}
	s.put(f.Body.Lbrace+1, fmt.Sprintf(" if _present.Is(%d) { %s%s(%s)%s };", number, result, call, args, end))
}

func (s *source) between(from, to token.Pos) string {
	return string(s.text[s.offset(from):s.offset(to)])
}

// names returns the names of parameters. A parameter without a name gets one, always the same.
func (s *source) names(list *ast.FieldList, prefix string) []string {
	var all []string
	for _, field := range list.List {
		if len(field.Names) == 0 {
			name := fmt.Sprintf("_%s%d", prefix, len(all))
			s.insert[s.offset(field.Type.Pos())] = name + " "
			all = append(all, name)
		}
		for _, n := range field.Names {
			name := n.Name
			if name == "_" {
				more := fmt.Sprintf("%s%d", prefix, len(all))
				s.insert[s.offset(n.End())] = more
				name += more
			}
			all = append(all, name)
		}
	}
	return all
}
