// Package mistakes has places in the code that are made wrong to see whether tests and
// simulations notice. A mistake is a replacement of text. All are built at once, with go's
// -overlay, and one is switched on at run time: the code itself knows nothing of them.
package mistakes

import (
	"path"
	"slices"
	"strings"
)

// Mistake is one that somebody could make.
type Mistake struct {
	What     string // goes wrong
	By       Finder
	Survives string // why nothing finds it yet; "": By does
	Edits    []Edit
}

// Edit replaces text in the body of a function. The text is in the file once.
type Edit struct{ File, Old, New string }

// Finder is the folder of what finds a mistake: of a simulation, or of a package with tests.
// After a space there may be a pattern of those tests that look for it.
type Finder string

// The simulations, and the tests of the package that the mistake is in.
const (
	Tests    Finder = ""
	Store    Finder = "sim"
	Barriers Finder = "sim/barriers"
	Groups   Finder = "sim/groups"
)

// Simulates reports whether f runs seeds, and not tests.
func (f Finder) Simulates() bool { return f == Store || f == Barriers || f == Groups }

// Package returns the folder of the tests, and the pattern of their names, which may be "".
func (f Finder) Package() (folder, pattern string) {
	folder, pattern, _ = strings.Cut(string(f), " ")
	return folder, pattern
}

// mistake is one with an edit for each three texts: file, old, new. By is a folder
// afterwards.
func mistake(by Finder, what string, texts ...string) Mistake {
	m := Mistake{What: what, By: by}
	for edit := range slices.Chunk(texts, 3) {
		m.Edits = append(m.Edits, Edit{edit[0], edit[1], edit[2]})
	}
	if by == Tests {
		m.By = Finder(path.Dir(m.Edits[0].File))
	}
	return m
}

// survivor is a mistake that nothing finds yet, and says why. By may find it one day.
func survivor(why string, m Mistake) Mistake {
	m.Survives = why
	return m
}

// All returns all mistakes. The number of one is its place, counted from 1.
func All() []Mistake {
	return slices.Concat(inNode, inDirectory, inTransfer, inReduce, inMembership, inReplica, inBarriers, inGroups, inHosts)
}
