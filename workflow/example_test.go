package workflow_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/phalanx-go/phalanx/workflow"
)

// The programs of the workflow specification 5.

type (
	// Txn is a transaction of the example of the thesis, figure 3.1.
	Txn struct{ ID int }
	// Order is what the trip ends with.
	Order struct{ Booked bool }
)

var (
	begin   = workflow.Func0("begin", 1, beginTxn)
	lock    = workflow.Func2("lock", 1, lockRow).Undo(abort)
	reserve = workflow.Func2("reserve", 1, seat).With(workflow.Deterministic, workflow.NoEffect, workflow.NoCheckpoint)
	finish  = workflow.Func3("finish", 1, commitOrAbort)
	clean   = workflow.Func1("clean", 3, cleanRows).With(workflow.Deterministic, workflow.NoEffect, workflow.NoCheckpoint)
	sample  = workflow.Func2("sample", 1, countSample).With(workflow.Deterministic, workflow.NoEffect)
	total   = workflow.Func1("total", 1, sum).With(workflow.Deterministic, workflow.NoEffect)

	ingest  = workflow.Func0("ingest", 1, readAll).With(workflow.NoEffect)
	spawn   = workflow.Func1("spawn", 1, spawnWorkers).With(workflow.NoEffect)
	augment = workflow.Func2("augment", 1, augmented).With(workflow.NoEffect)
	train   = workflow.Func2("train", 1, trained).With(workflow.NoEffect)
	export  = workflow.Func1("export", 1, exported)
)

func beginTxn(workflow.Context) (Txn, error)                            { return Txn{1}, nil }
func lockRow(workflow.Context, Txn, string) (bool, error)               { return true, nil }
func abort(workflow.Context, Txn, string) error                         { return nil }
func seat(_ workflow.Context, _ Txn, locked bool) (bool, error)         { return locked, nil }
func commitOrAbort(_ workflow.Context, _ Txn, h, f bool) (Order, error) { return Order{h && f}, nil }
func cleanRows(c workflow.Context, name string) (workflow.Ref, error) {
	return c.Put("rows", []byte(name))
}
func countSample(c workflow.Context, rows workflow.Ref, seed int) (int, error) {
	return int(rows.Size()) + seed, nil
}

func sum(_ workflow.Context, counts []int) (n int, err error) {
	for _, c := range counts {
		n += c
	}
	return n, nil
}

func readAll(c workflow.Context) (workflow.Ref, error)                             { return c.Put("all", nil) }
func spawnWorkers(workflow.Context, int) ([]workflow.ActorRef, error)              { return nil, nil }
func augmented(_ workflow.Context, data workflow.Ref, _ int) (workflow.Ref, error) { return data, nil }
func trained(_ workflow.Context, w []workflow.ActorRef, _ workflow.Ref) ([]workflow.ActorRef, error) {
	return w, nil
}
func exported(c workflow.Context, _ []workflow.ActorRef) (workflow.Ref, error) {
	return c.Put("model", nil)
}

func trip() workflow.Step[Order] {
	t := begin.Bind()
	h := reserve.Bind(t, lock.Bind(t, workflow.Value("hotel")))
	f := reserve.Bind(t, lock.Bind(t, workflow.Value("flight")))
	return finish.Bind(t, h, f)
}

func etl(n int) workflow.Step[int] {
	rows := clean.Bind(workflow.Value("raw.csv"))
	var counts []workflow.Arg[int]
	for seed := range n {
		counts = append(counts, sample.Bind(rows, workflow.Value(seed)))
	}
	return total.Bind(workflow.All(counts...))
}

func pipeline(epochs int) workflow.Step[workflow.Ref] {
	data, workers := ingest.Bind(), spawn.Bind(workflow.Value(8))
	for e := range epochs {
		workers = train.Bind(workers, augment.Bind(data, workflow.Value(e)))
		if e%10 == 9 || e == epochs-1 {
			workers = workers.With(workflow.Snapshot)
		}
	}
	return export.Bind(workflow.Read(workers))
}

// A trip is booked as a transaction: its last task waits until what it depends on cannot change any more.
func ExampleCheck() {
	waits, err := workflow.Check(trip())
	fmt.Println(waits, err)
	// Output: [{lock [begin]} {lock#2 [begin]} {finish [begin lock lock#2]}] <nil>
}

// Ten consumers share one input.
func ExampleAll() {
	d, err := workflow.Describe(etl(10))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(d.Tasks), d.Tasks[11].Name, d.Tasks[11].Reads, d.Refused == "")
	// Output: 12 total [1 2 3 4 5 6 7 8 9 10] true
}

// Workflows with actors can be described; Check refuses them until nodes can run them.
func ExampleRead() {
	_, err := workflow.Check(pipeline(20))
	fmt.Println(err)
	// Output: <nil>
}

// A task that returns a workflow, here of itself.
func ExampleExpand1() {
	add := workflow.Func2("add", 1, func(_ workflow.Context, a, b int) (int, error) { return a + b, nil }).With(workflow.Deterministic, workflow.NoEffect)
	one := workflow.Func0("one", 1, func(workflow.Context) (int, error) { return 1, nil }).With(workflow.Deterministic, workflow.NoEffect)
	fib := workflow.Expand1("fib", 1, func(_ workflow.Context, n int) (workflow.Step[int], error) {
		if n < 2 {
			return one.Bind(), nil
		}
		self := workflow.Named1[int, int]("fib", 1)
		return add.Bind(self.Bind(workflow.Value(n-1)), self.Bind(workflow.Value(n-2))), nil
	}).With(workflow.Deterministic, workflow.NoEffect)

	d, err := workflow.Describe(fib.Bind(workflow.Value(5)))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Tasks[0].Name, d.Tasks[0].Expands)
	fmt.Println(d.Refused == "")
	// Output:
	// fib true
	// true
}

// A consumer takes the error of a step.
func ExampleCatch() {
	order := workflow.Do0("order", 1, func(workflow.Context) error { return errors.New("sold out") })
	tell := workflow.Do1("tell", 1, func(_ workflow.Context, o workflow.Outcome[workflow.None]) error { return nil })
	waits, err := workflow.Check(tell.Bind(workflow.Catch(order.Bind())))
	fmt.Println(waits, err)
	// Output: [{tell [order]}] <nil>
}

// A task is tried without a cluster.
func ExampleTrial() {
	double := workflow.Func1("double", 1, func(c workflow.Context, n int) (int, error) {
		fmt.Println(c.Key(), "attempt", c.Attempt())
		return 2 * n, nil
	})
	t := workflow.NewTrial(workflow.TrialConfig{})
	made, err := t.Do(context.Background(), double.Bind(workflow.Value(21)), workflow.Try{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(workflow.Output[int](made))
	// Output:
	// trial/double attempt 1
	// 42 <nil>
}
