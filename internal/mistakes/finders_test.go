//go:build mistakes

package mistakes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	someSeeds   = 300             // for a mistake that survives
	slowTest    = 0.3             // seconds; longer tests run after the others
	testsWithin = 5 * time.Minute // of a package; a machine that is too slow finds nothing
	huntWithin  = 10 * time.Minute
)

// enoughSeeds are how many seeds a simulation runs for a mistake.
var enoughSeeds = map[Finder]int{Store: 5_000, Barriers: 20_000, Groups: 20_000, Workflows: 2_000}

// built are programs with all mistakes.
type built struct {
	root, dir string
	slow      sync.Map // by Finder, a func() (string, error) that returns a pattern of slow tests
}

// build builds, with all mistakes, the programs that look for the chosen ones.
func build(t *testing.T, all []Mistake, chosen []int) *built {
	t.Helper()
	b := &built{root: root(t), dir: t.TempDir()}
	overlay, err := Overlay(b.root, b.dir, all)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if text, err := b.command("go", "build", "-overlay", overlay, "-o", b.dir, "./internal/mistakes/hunt").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	packages := map[string][]string{} // by parent folder: packages in one have different names
	for _, number := range chosen {
		m := all[number-1]
		if m.By.Simulates() {
			continue
		}
		b.slow.LoadOrStore(m.By, sync.OnceValues(func() (string, error) { return b.slowTests(m.By) }))
		p, _ := m.By.Package()
		if in := path.Dir(p); !slices.Contains(packages[in], "./"+p) {
			packages[in] = append(packages[in], "./"+p)
		}
	}
	for in, folders := range packages {
		to := filepath.Join(b.dir, in) + "/"
		if err := os.MkdirAll(to, 0o700); err != nil {
			t.Fatal(err)
		}
		args := append([]string{"test", "-c", "-overlay", overlay, "-o", to}, folders...)
		if text, err := b.command("go", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	}
	t.Logf("built in %v", time.Since(began).Round(time.Second))
	return b
}

func sorted[V any](of map[Finder]V) []Finder { return slices.Sorted(maps.Keys(of)) }

func (b *built) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir = b.root
	return c
}

// look looks for a mistake.
func (b *built) look(number int, m Mistake) verdict {
	if m.By.Simulates() {
		return b.hunt(number, m)
	}
	return b.runTests(number, m.By)
}

// hunt looks for a mistake in a simulation.
func (b *built) hunt(number int, m Mistake) (v verdict) {
	n := enoughSeeds[m.By]
	if m.Survives != "" {
		n = someSeeds
	}
	if *seeds > 0 {
		n = min(n, *seeds)
	}
	ctx, stop := context.WithTimeout(context.Background(), huntWithin) // a run may not end
	defer stop()
	cmd := exec.CommandContext(ctx, filepath.Join(b.dir, "hunt"), "--by", string(m.By), "--mistake", strconv.Itoa(number), "--seeds", strconv.Itoa(n))
	text, err := cmd.Output()
	if err != nil {
		return verdict{err: fmt.Errorf("%w: %s", err, text)}
	}
	v.took = took(cmd)
	var c Catch
	if v.err = json.Unmarshal(text, &c); v.err == nil && c.Problem != "" {
		v.err = errors.New(c.Problem)
	}
	if v.how = fmt.Sprintf("%d seeds", c.Seeds); c.Found != "" {
		first, _, _ := strings.Cut(c.Found, "\n")
		v.found, v.how = true, fmt.Sprintf("seed %d %s", c.Seeds, first)
	}
	return v
}

var failed = regexp.MustCompile(`(?m)^--- FAIL: (\S+)|^\s+(Test\S+) \(.*\)$|^(goroutines were left):|^(panic: .*|fatal error: .*)`)

// runTests looks for a mistake with the tests of a package, with the quick ones first.
func (b *built) runTests(number int, p Finder) (v verdict) {
	slow, _ := b.slow.Load(p)
	pattern, err := slow.(func() (string, error))()
	if err != nil {
		return verdict{err: err}
	}
	passes := [][]string{{"-test.skip", pattern}, {"-test.run", pattern}}
	if pattern == "" {
		passes = [][]string{{}}
	}
	for _, flags := range passes {
		text, took, err := b.testsOf(p, number, append(flags, "-test.failfast")...)
		v.took += took
		if err == nil {
			continue
		}
		first := failed.FindStringSubmatch(text)
		if first == nil || strings.Contains(text, "panic: test timed out") {
			return verdict{err: fmt.Errorf("%w: %s", err, text)}
		}
		return verdict{found: true, how: strings.Join(first[1:], "") + " fails", took: v.took} // one of them is not ""
	}
	v.how = "all tests pass"
	return v
}

// testsOf runs tests.
func (b *built) testsOf(p Finder, number int, flags ...string) (string, time.Duration, error) {
	folder, pattern := p.Package()
	if pattern != "" && !slices.Contains(flags, "-test.run") {
		flags = append(flags, "-test.run", pattern)
	}
	cmd := exec.Command(filepath.Join(b.dir, folder+".test"), append(flags, "-test.short", "-test.timeout", testsWithin.String())...)
	cmd.Dir = filepath.Join(b.root, folder)
	cmd.Env = append(os.Environ(), switchedOn(number))
	text, err := cmd.CombinedOutput()
	return string(text), took(cmd), err
}

// took is how long a command had a processor.
func took(c *exec.Cmd) time.Duration {
	if c.ProcessState == nil { // it has not begun
		return 0
	}
	return c.ProcessState.UserTime() + c.ProcessState.SystemTime()
}

var passed = regexp.MustCompile(`(?m)^--- PASS: (\S+) \((\S+)s\)`)

// slowTests runs the tests of a package without a mistake, and returns a pattern of those
// that are slow.
func (b *built) slowTests(p Finder) (string, error) {
	text, _, err := b.testsOf(p, 0, "-test.v")
	if err != nil {
		return "", fmt.Errorf("the tests fail without a mistake: %w\n%s", err, text)
	}
	var slow []string
	for _, found := range passed.FindAllStringSubmatch(text, -1) {
		if took, err := strconv.ParseFloat(found[2], 64); err == nil && took > slowTest {
			slow = append(slow, found[1])
		}
	}
	if len(slow) == 0 {
		return "", nil
	}
	return "^(" + strings.Join(slow, "|") + ")$", nil
}
