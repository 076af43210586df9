// Package mistakes has a table of mistakes that the code could have, to check that tests and
// simulations notice each. A mistake is a replacement of text. One build, with go's -overlay,
// has all mistakes, and a switch turns one on at run time: the code itself has no trace of them.
package mistakes

import (
	"path"
	"slices"
	"strings"
)

// Mistake is a mistake that a programmer could make.
type Mistake struct {
	What     string // goes wrong
	By       Finder
	Survives string // why no finder finds it yet; "": By does
	Edits    []Edit
}

// Edit replaces Old in the body of a function by New. The file has Old once.
type Edit struct{ File, Old, New string }

// Finder is what finds a mistake: the folder of a simulation (sim, sim/barriers, sim/groups or sim/workflows), or of a package
// with tests. A space and a pattern of test names may follow.
type Finder string

// The simulations, and the tests of the mistake's own package.
const (
	Tests     Finder = ""
	Store     Finder = "sim"
	Barriers  Finder = "sim/barriers"
	Groups    Finder = "sim/groups"
	Workflows Finder = "sim/workflows"
)

// Simulates reports whether f runs seeds, and not tests.
func (f Finder) Simulates() bool { return f == Store || f == Barriers || f == Groups || f == Workflows }

// Package returns the folder of the tests, and the pattern of their names, which may be "".
func (f Finder) Package() (folder, pattern string) {
	folder, pattern, _ = strings.Cut(string(f), " ")
	return folder, pattern
}

// mistake returns a mistake with an edit for each three texts: file, old, new. If by is Tests,
// By becomes the folder of the first file.
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

// survivor marks a mistake that no finder finds yet, and says why. By may find it one day.
func survivor(why string, m Mistake) Mistake {
	m.Survives = why
	return m
}

// All returns all mistakes. The number of a mistake is its place, counted from 1.
func All() []Mistake {
	return slices.Concat(inNode, inDirectory, inTransfer, inReduce, inMembership, inReplica, inBarriers, inGroups, inHosts, inLedger, aroundLedger, inControllers, inWorkflows)
}
