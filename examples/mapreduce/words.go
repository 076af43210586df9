package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
)

// load returns the text of a file, or of the documentation of this repository.
func load(file string) (string, error) {
	if file != "" {
		b, err := os.ReadFile(file)
		return string(b), err
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("this is not run inside the repository, whose documentation is its text: give --text FILE")
		}
		dir = filepath.Dir(dir)
	}
	var all strings.Builder
	for _, pattern := range []string{"LICENSE", "*.md", "docs/*.md", "docs/adr/*.md"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return "", err
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				return "", err
			}
			all.Write(b)
			all.WriteByte('\n')
		}
	}
	return all.String(), nil
}

func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) })
}

// split cuts the words of a text into n parts.
func split(text string, n int) []string {
	w := words(text)
	parts := make([]string, n)
	for i := range n {
		parts[i] = strings.Join(w[len(w)*i/n:len(w)*(i+1)/n], " ")
	}
	return parts
}

func count(text string) map[string]int {
	counts := map[string]int{}
	for _, w := range words(text) {
		counts[w]++
	}
	return counts
}

// part says which reduce task a word belongs to.
func part(word string, of int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(word)) // it never fails
	return int(h.Sum32() % uint32(of))
}

func splitID(i int) phalanx.ObjectID  { return phalanx.ObjectID(fmt.Sprint("split/", i)) }
func middleID(i int) phalanx.ObjectID { return phalanx.ObjectID(fmt.Sprint("middle/", i)) }
func resultID(i int) phalanx.ObjectID { return phalanx.ObjectID(fmt.Sprint("result/", i)) }

// counts gets what a task has left.
func counts(ctx context.Context, n *cluster.Node, id phalanx.ObjectID) (map[string]int, error) {
	v, err := n.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	defer v.Release()
	var c map[string]int
	return c, json.Unmarshal(v.Bytes(), &c)
}

// check compares the results with a count of all words.
func check(ctx context.Context, n *cluster.Node, text string, reduces int) error {
	want := count(text)
	for r := range reduces {
		got, err := counts(ctx, n, resultID(r))
		if err != nil {
			return err
		}
		for w, k := range got {
			if want[w] != k {
				return fmt.Errorf("%q is there %d times, and %d were counted", w, want[w], k)
			}
			delete(want, w)
		}
	}
	if len(want) > 0 {
		return fmt.Errorf("%d words were not counted", len(want))
	}
	return nil
}
