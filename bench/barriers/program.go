package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// programs are examples of this repository, compiled into a directory.
type programs struct {
	root, dir string
}

// compile builds an example. The caller must call remove.
func compile(ctx context.Context, name string) (p programs, err error) {
	if p.root, err = root(); err != nil {
		return p, err
	}
	if p.dir, err = os.MkdirTemp("", "phalanx-barriers"); err != nil {
		return p, err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", p.dir, "./examples/"+name)
	cmd.Dir = p.root
	if said, err := cmd.CombinedOutput(); err != nil {
		return p, errors.Join(fmt.Errorf("%s: %w: %s", cmd, err, said), p.remove())
	}
	return p, nil
}

func (p programs) remove() error { return os.RemoveAll(p.dir) }

// programTime bounds a run of an example.
const programTime = 6 * time.Minute

// run runs an example, which prints JSON, and decodes that into result.
func (p programs) run(ctx context.Context, result any, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, programTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(p.dir, name), append(args, "-o", "json")...)
	cmd.Dir, cmd.Stderr = p.root, os.Stderr
	said, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", cmd, err)
	}
	return json.Unmarshal(said, result)
}

// root returns the directory of this repository, in which the program must run.
func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(b), "module github.com/phalanx-go/phalanx\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("run this inside the repository: it runs the examples")
		}
	}
}
