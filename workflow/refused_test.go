package workflow

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/phalanx-go/phalanx/actors"
	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// refusing is a ledger that refuses what is asked of its first tenure, from some time on. The tenure itself goes on.
type refusing struct {
	durable.Log
	err     error
	appends bool // it refuses Appends; else Confirms, or Ranges of outputs
	ranges  bool

	mu      sync.Mutex
	refuses bool
	epochs  []uint64 // of all tenures
	refused int
	most    int // how often it refuses
}

func (r *refusing) Run(ctx context.Context, on func(durable.Tenure)) error {
	return r.Log.Run(ctx, func(t durable.Tenure) {
		r.mu.Lock()
		r.epochs = append(r.epochs, t.Epoch())
		r.mu.Unlock()
		on(&refusingTenure{t, r})
	})
}

type refusingTenure struct {
	durable.Tenure
	of *refusing
}

// refuse reports whether a call is refused, and has it answered then.
func (t *refusingTenure) refuse(done func(error)) bool {
	r := t.of
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.refuses || t.Epoch() != r.epochs[0] || r.refused >= r.most {
		return false
	}
	r.refused++
	go done(r.err)
	return true
}

// Range refuses to read recorded outputs one by one.
func (t *refusingTenure) Range(key, end string, limit int, f func(ledger.Row) bool) error {
	refused := make(chan error, 1)
	if t.of.ranges && limit == 1 && strings.Contains(key, "/out/") && t.refuse(func(err error) { refused <- err }) {
		return <-refused
	}
	return t.Tenure.Range(key, end, limit, f)
}

func (t *refusingTenure) Append(rows []ledger.Row, done func(error)) {
	if !t.of.appends || !t.refuse(done) {
		t.Tenure.Append(rows, done)
	}
}

func (t *refusingTenure) Confirm(done func(error)) {
	if t.of.appends || t.of.ranges || !t.refuse(done) {
		t.Tenure.Confirm(done)
	}
}

// Executors get large inputs row by row. If the disk of the controller cannot read one, another controller follows.
func TestRunsGoOnThoughAnOutputCannotBeRead(t *testing.T) {
	r := &refusing{err: fmt.Errorf("the test: %w", durable.ErrCorrupt), ranges: true, refuses: true, most: 1 << 30}
	b := &bedOf{t: t}
	text := Func1("text", 1, func(_ Context, n int) (string, error) { return strings.Repeat("x", n), nil })
	size := Func3("size", 1, func(_ Context, x, y, z string) (int, error) { return len(x) + len(y) + len(z), nil })
	n := b.join("a", Settings{Dir: t.TempDir(), Tasks: Tasks(text, size), ledger: func(l durable.Log) durable.Log {
		r.Log = l
		return r
	}})
	events := n.Events(t.Context())
	x, err := Start(within(t), n, "x", size.Bind(text.Bind(Value(60_000)), text.Bind(Value(60_001)), text.Bind(Value(60_002))))
	if got := result(t, x, err); got != 180_003 {
		t.Errorf("the result is %d", got)
	}
	if r.refused == 0 {
		t.Error("every input fits into the order")
	}
	happens(t, events, func(e actors.Event) bool { f, is := e.(actors.ControllerFailed); return is && f.Epoch == r.epochs[0] })
}

// Runs go on whatever the ledger answers a controller: with the same controller if the ledger is too busy to answer whether the
// tenure goes on, else with the next one, though the replica could have gone on with the first tenure.
func TestRunsGoOnThoughTheLedgerRefuses(t *testing.T) {
	for _, c := range []struct {
		what    string
		err     error
		appends bool
		most    int
		next    bool // another tenure follows
	}{
		{"an append is too much", durable.ErrBusy, true, 1 << 30, true},
		{"an append is invalid", durable.ErrInvalid, true, 1 << 30, true},
		{"an append is fenced", durable.ErrFenced, true, 1 << 30, true},
		{"a question is fenced", durable.ErrFenced, false, 1 << 30, true},
		{"a question fails", errors.New("it cannot be known"), false, 1 << 30, true},
		{"questions are too many", durable.ErrBusy, false, 3, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			r := &refusing{err: fmt.Errorf("the test: %w", c.err), appends: c.appends, most: c.most}
			b := &bedOf{t: t}
			g := newGate()
			one := Func0("one", 1, func(c Context) (int, error) { return 1, g.pass(c, "one") })
			two := Func1("two", 1, func(_ Context, n int) (int, error) { return n + 1, nil })
			n := b.join("a", Settings{Dir: t.TempDir(), Tasks: Tasks(one, two), ledger: func(l durable.Log) durable.Log {
				r.Log = l
				return r
			}})
			events := n.Events(t.Context())
			x, err := Start(within(t), n, "x", two.Bind(one.Bind()))
			if err != nil {
				t.Fatal(err)
			}
			g.await(t)
			r.mu.Lock()
			r.refuses = true
			r.mu.Unlock()
			close(g.open)
			again, err := Attach[int](within(t), n, "x")
			if got := result(t, again, err); got != 2 {
				t.Errorf("the result is %d", got)
			}
			if got := result(t, x, nil); got != 2 {
				t.Errorf("the result is %d", got)
			}
			r.mu.Lock()
			refused, tenures := r.refused, len(r.epochs)
			r.mu.Unlock()
			if refused == 0 || (tenures > 1) != c.next || c.most < 10 && refused != c.most {
				t.Errorf("%d calls were refused, and there were %d tenures", refused, tenures)
			}
			if c.next {
				happens(t, events, func(e actors.Event) bool { f, is := e.(actors.ControllerFailed); return is && f.Epoch == r.epochs[0] })
			}
		})
	}
}
