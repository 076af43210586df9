package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/phalanx-go/phalanx/workflow"
)

// outside is what the tasks see of the world: files, which no kill of a process changes.
type outside struct {
	Dir   string
	Every int // each attempt of that number kills its process; 0: none does
}

// death is when an attempt kills its process.
type death int

const (
	never death = iota
	beforeEffect
	afterEffect
)

// task is the function of the workflow. It is idempotent: the file of a key is created once.
func (o outside) task() workflow.F2[int, []string, string] {
	return workflow.Func2("mix", 1, func(c workflow.Context, number int, inputs []string) (string, error) {
		sum := hash(number, inputs)
		when, err := o.attempt()
		if err != nil {
			return "", err
		}
		if when == beforeEffect {
			return "", die()
		}
		if err := o.effect(c.Key(), number, sum); err != nil {
			return "", err
		}
		if when == afterEffect {
			return "", die()
		}
		return sum, nil
	}).With(workflow.Idempotent)
}

func (o outside) registry() *workflow.Registry { return workflow.Tasks(o.task()) }

func die() error { return syscall.Kill(os.Getpid(), syscall.SIGKILL) }

func (o outside) attempts() string { return filepath.Join(o.Dir, "attempts") }

func (o outside) effects() string { return filepath.Join(o.Dir, "effects") }

// attempt counts an attempt in a file, and says whether it is its turn to die.
func (o outside) attempt() (death, error) {
	f, err := os.OpenFile(o.attempts(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return never, err
	}
	defer func() { _ = f.Close() }() // nothing was buffered
	if _, err := f.Write([]byte{'.'}); err != nil {
		return never, err
	}
	n, err := f.Seek(0, 1) // behind the own byte
	switch {
	case err != nil || o.Every == 0 || n%int64(o.Every) != 0:
		return never, err
	case n/int64(o.Every)%2 == 0:
		return afterEffect, nil
	}
	return beforeEffect, nil
}

// effect creates the file of a key, whole or not at all.
func (o outside) effect(key string, number int, sum string) error {
	name := strings.ReplaceAll(key, "/", "-")
	temporary := filepath.Join(o.effects(), fmt.Sprintf(".%s-%d", name, os.Getpid()))
	if err := os.WriteFile(temporary, fmt.Appendf(nil, "%d %s", number, sum), 0o644); err != nil {
		return err
	}
	if err := os.Link(temporary, filepath.Join(o.effects(), name)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Remove(temporary)
}

// count returns how many attempts there were.
func (o outside) count() (int, error) {
	i, err := os.Stat(o.attempts())
	if err != nil {
		return 0, err
	}
	return int(i.Size()), nil
}

// check returns an error unless each task has taken effect once, with the hash that it has in a plain run.
func (o outside) check(sums []string) error {
	files, err := os.ReadDir(o.effects())
	if err != nil {
		return err
	}
	seen := make([]bool, len(sums))
	for _, f := range files {
		if strings.HasPrefix(f.Name(), ".") {
			continue // of an attempt that has died
		}
		b, err := os.ReadFile(filepath.Join(o.effects(), f.Name()))
		if err != nil {
			return err
		}
		number, sum := 0, ""
		if _, err := fmt.Sscan(string(b), &number, &sum); err != nil {
			return fmt.Errorf("%s: %w", f.Name(), err)
		}
		switch {
		case number < 0 || number >= len(sums):
			return fmt.Errorf("%s is of task %d, which there is none of", f.Name(), number)
		case seen[number]:
			return fmt.Errorf("task %d has taken effect twice", number)
		case sum != sums[number]:
			return fmt.Errorf("task %d has made %s, not %s", number, sum, sums[number])
		}
		seen[number] = true
	}
	if v := slices.Index(seen, false); v >= 0 {
		return fmt.Errorf("task %d has had no effect", v)
	}
	return nil
}
