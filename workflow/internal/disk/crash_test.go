package disk

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"

	"github.com/phalanx-go/phalanx/internal/children"
	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// crashFolder names the folder that the test binary writes to as a child process.
const crashFolder = "PHALANX_DISK_CRASH"

// rowsOfWrite is how many rows a Write of the child has: with some but not all of them it is torn.
const rowsOfWrite = 5

// said is what the child says: a Write that was acknowledged, or why it cannot go on.
type said struct {
	Acknowledged int
	Error        string
}

// crashChild writes until it is killed, four Writes at a time.
func crashChild(dir string) {
	if err := crashWrites(dir); err != nil {
		children.Say(said{Error: err.Error()})
	}
	os.Exit(1)
}

func crashWrites(dir string) error {
	d, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	s, err := d.State()
	if err != nil {
		return err
	}
	if s.Replica == 0 {
		if _, err := d.Begin(); err != nil {
			return err
		}
	}
	last, err := lastWrite(d)
	if err != nil {
		return err
	}
	slots := make(chan error, 4)
	for range cap(slots) {
		slots <- nil
	}
	for n := last + 1; ; n++ {
		if err := <-slots; err != nil {
			return err
		}
		w := ledger.Write{Sync: true}
		for i := range rowsOfWrite {
			w.Rows = append(w.Rows, ledger.Row{Key: fmt.Sprintf("%08d/%d", n, i), Value: make([]byte, n*37%3000)})
		}
		d.Apply(w, func(err error) {
			if err == nil {
				children.Say(said{Acknowledged: n})
			}
			slots <- err
		})
	}
}

// lastWrite returns the number of the last Write, and an error if one of those before is torn or missing.
func lastWrite(d durable.Store) (int, error) {
	rows := 0
	var wrong error
	err := d.Scan("", func(r ledger.Row) bool {
		if want := fmt.Sprintf("%08d/%d", 1+rows/rowsOfWrite, rows%rowsOfWrite); r.Key != want {
			wrong = fmt.Errorf("row %s is at the place of %s", r.Key, want)
		}
		rows++
		return wrong == nil
	})
	if err == nil && wrong == nil && rows%rowsOfWrite != 0 {
		wrong = fmt.Errorf("the last write has %d of %d rows", rows%rowsOfWrite, rowsOfWrite)
	}
	if err == nil {
		err = wrong
	}
	return rows / rowsOfWrite, err
}

// A process that writes is killed at a random moment, 20 times over: what it has said to be
// acknowledged is there, and no Write is torn.
func TestProcessIsKilled(t *testing.T) {
	rounds := 20
	if testing.Short() {
		rounds = 3
	}
	dir := t.TempDir()
	total := int64(0)
	for round := range rounds {
		var acknowledged atomic.Int64
		target := int64(1 + rand.IntN(60))
		reached, failed := make(chan struct{}, 1), make(chan string, 1)
		heard := 0
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), crashFolder+"="+dir)
		cmd.Stderr = os.Stderr
		child, err := children.Talk(cmd, func(s said) {
			if s.Error != "" {
				failed <- s.Error
				return
			}
			acknowledged.Store(int64(s.Acknowledged))
			if heard++; int64(heard) == target {
				reached <- struct{}{}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-reached:
		case why := <-failed:
			t.Fatalf("round %d: the child has failed: %s", round, why)
		case <-child.Done():
			t.Fatalf("round %d: the child has ended: %s", round, children.How(child.Err()))
		}
		_ = child.Kill() // it says that the child was killed; all lines are heard then
		d, err := Open(dir, Options{})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		last, err := lastWrite(d)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if int64(last) < acknowledged.Load() {
			t.Fatalf("round %d: write %d was acknowledged, the last on the disk is %d", round, acknowledged.Load(), last)
		}
		total = acknowledged.Load()
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d writes were acknowledged in %d rounds", total, rounds)
}

// A folder that another process uses is locked, until that process is gone.
func TestOpenLockedByAProcess(t *testing.T) {
	dir := t.TempDir()
	up := make(chan said, 1000)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashFolder+"="+dir)
	child, err := children.Talk(cmd, func(s said) {
		select {
		case up <- s:
		default:
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer child.Kill() // it may be killed already
	if s := <-up; s.Error != "" {
		t.Fatal(s.Error)
	}
	d, err := Open(dir, Options{})
	if err == nil {
		_ = d.Close()
		t.Fatal("two processes use the folder")
	}
	if open := new(durable.OpenError); !errors.As(err, &open) || open.Problem != durable.ErrLocked {
		t.Errorf("error %v", err)
	}
	_ = child.Kill() // it says that the child was killed
	d, err = Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}
