// Package mistakes has places in the code that are made wrong, one at a time, to see whether
// tests and simulations find that. A mistake is built with go's -overlay, so that the code knows
// nothing of it.
package mistakes

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Mistake is one that somebody could make.
type Mistake struct {
	What  string // goes wrong
	By    Finder
	Edits []Edit
}

// Edit replaces text that is in a file once.
type Edit struct{ File, Old, New string }

// Finder is what finds a mistake.
type Finder string

// The finders.
const (
	Store    Finder = "the simulation of the store"
	Barriers Finder = "the simulation of barriers"
	Groups   Finder = "the simulation of groups"
	Tests    Finder = "the tests of the package"
)

// mistake is one with an edit for each three texts: file, old, new.
func mistake(by Finder, what string, texts ...string) Mistake {
	m := Mistake{What: what, By: by}
	for edit := range slices.Chunk(texts, 3) {
		m.Edits = append(m.Edits, Edit{edit[0], edit[1], edit[2]})
	}
	return m
}

// All returns all mistakes.
func All() []Mistake {
	return slices.Concat(inDirectory, inTransfer, inReduce, inMembership, inBarriers, inGroups)
}

// Overlay writes into dir what go's -overlay takes to build the code under root with the
// mistake, and returns its path.
func (m Mistake) Overlay(root, dir string) (string, error) {
	changed := map[string]string{}
	for _, e := range m.Edits {
		text, ok := changed[e.File]
		if !ok {
			was, err := os.ReadFile(filepath.Join(root, e.File))
			if err != nil {
				return "", err
			}
			text = string(was)
		}
		if n := strings.Count(text, e.Old); n != 1 {
			return "", fmt.Errorf("%s has %d times, and not once, the text\n%s", e.File, n, e.Old)
		}
		changed[e.File] = strings.Replace(text, e.Old, e.New, 1)
	}
	replace := map[string]string{}
	for file, text := range changed {
		to := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(root, file)] = to
	}
	data, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, data, 0o600)
}
