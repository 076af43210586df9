package hashdag

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/phalanx-go/phalanx/internal/deaths"
	"github.com/phalanx-go/phalanx/workflow"
)

// Outside is what the tasks see of the world: files, which no kill of a process changes.
type Outside struct {
	Dir   string
	Every int // each attempt of that number kills its process; 0: none does
}

// NewOutside returns the files in a folder, which it makes.
func NewOutside(dir string, every int) (Outside, error) {
	o := Outside{Dir: dir, Every: every}
	return o, os.MkdirAll(o.effects(), 0o755)
}

// Task is the function of the workflow. It is idempotent: the file of a key is created once. All versions make the same.
func (o Outside) Task(version int) workflow.F2[int, []Made, Made] {
	return workflow.Func2(Name, version, func(c workflow.Context, number int, inputs []Made) (none Made, err error) {
		sums, err := read(c, inputs)
		if err != nil {
			return none, err
		}
		sum := hash(number, sums)
		when, err := o.attempts().Next(o.Every)
		if err != nil {
			return none, err
		}
		if when == deaths.BeforeEffect {
			return none, deaths.Die()
		}
		if err := o.effect(c.Key(), number, sum); err != nil {
			return none, err
		}
		if when == deaths.AfterEffect {
			return none, deaths.Die()
		}
		return made(c, number, sum, inputs)
	}).With(workflow.Idempotent)
}

func (o Outside) attempts() deaths.Counter { return deaths.Counter(filepath.Join(o.Dir, "attempts")) }

func (o Outside) effects() string { return filepath.Join(o.Dir, "effects") }

// effect creates the file of a key, whole or not at all.
func (o Outside) effect(key string, number int, sum string) error {
	run, task, _ := strings.Cut(key, "/")
	name := strings.ReplaceAll(task, "/", "-")
	dir := filepath.Join(o.effects(), run)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	temporary := filepath.Join(dir, fmt.Sprintf(".%s-%d", name, os.Getpid()))
	if err := os.WriteFile(temporary, fmt.Appendf(nil, "%d %s", number, sum), 0o644); err != nil {
		return err
	}
	if err := os.Link(temporary, filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Remove(temporary)
}

// Count returns how many attempts there were.
func (o Outside) Count() (int, error) { return o.attempts().Count() }

// Check returns an error unless each task of a run has taken effect once, with the hash that it has in a plain run. The run is
// named by its uid, with which the keys of its tasks begin.
func (o Outside) Check(run string, sums []string) error {
	dir := filepath.Join(o.effects(), run)
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	seen := make([]bool, len(sums))
	for _, f := range files {
		if strings.HasPrefix(f.Name(), ".") {
			continue // of an attempt that has died
		}
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
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

// Forget deletes the effects of a run.
func (o Outside) Forget(run string) error { return os.RemoveAll(filepath.Join(o.effects(), run)) }
