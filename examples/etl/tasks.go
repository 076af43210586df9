package main

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/workflow"
)

// outside is what the tasks see of the world: a folder, in which a file says that a consumer has been killed.
type outside struct{ Dir string }

// order says what a consumer does.
type order struct {
	Number int
	Dies   bool // the first attempt kills its process
}

// counted is what a consumer makes of the rows.
type counted struct {
	Sum    uint64
	Copied int64 // bytes that the task was given as a copy
}

// rows makes the same rows each time.
func rows(n int) []uint64 {
	r := rand.New(rand.NewPCG(1, 2))
	all := make([]uint64, n)
	for i := range all {
		all[i] = r.Uint64()
	}
	return all
}

// sample is the work of a consumer: it weighs rows by a number of its own. Half is called in the middle.
func sample(all []uint64, number int, half func() error) (sum uint64, err error) {
	for i, row := range all {
		if i == len(all)/2 {
			if err := half(); err != nil {
				return 0, err
			}
		}
		sum += row ^ uint64(number)*uint64(i)
	}
	return sum, nil
}

// The tasks. A worker's registry has their functions.
var (
	produce      = workflow.Named1[int, workflow.Ref]("produce", 1)
	produceValue = workflow.Named1[int, []uint64]("produce value", 1)
	consume      = workflow.Named2[workflow.Ref, order, counted]("consume", 1)
	consumeValue = workflow.Named2[[]uint64, order, counted]("consume value", 1)
	collect      = workflow.Named1[[]counted, []counted]("collect", 1)
)

func (o outside) tasks() *workflow.Registry {
	pure := []workflow.Option{workflow.Deterministic, workflow.NoEffect}
	return workflow.Tasks(
		workflow.Func1("produce", 1, func(c workflow.Context, n int) (workflow.Ref, error) {
			return workflow.PutArray(c, "rows", rows(n))
		}).With(pure...).With(workflow.NoCheckpoint),
		workflow.Func1("produce value", 1, func(_ workflow.Context, n int) ([]uint64, error) {
			return rows(n), nil
		}).With(pure...).With(workflow.SyncCheckpoint),
		workflow.Func2("consume", 1, func(c workflow.Context, in workflow.Ref, by order) (counted, error) {
			a, err := workflow.GetArray[uint64](c, in)
			if err != nil {
				return counted{}, err
			}
			defer a.Release()
			sum, err := sample(a.Values(), by.Number, func() error { return o.half(by) })
			return counted{Sum: sum}, err
		}).With(pure...),
		workflow.Func2("consume value", 1, func(_ workflow.Context, in []uint64, by order) (counted, error) {
			sum, err := sample(in, by.Number, func() error { return o.half(by) })
			return counted{Sum: sum, Copied: int64(len(cluster.BytesOf(in)))}, err
		}).With(pure...),
		workflow.Func1("collect", 1, func(_ workflow.Context, all []counted) ([]counted, error) {
			return all, nil
		}).With(pure...),
	)
}

// half kills the process of a consumer that is to die, once.
func (o outside) half(by order) error {
	if !by.Dies {
		return nil
	}
	f, err := os.OpenFile(o.killed(), os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return syscall.Kill(os.Getpid(), syscall.SIGKILL)
}

func (o outside) killed() string { return filepath.Join(o.Dir, "killed") }

// byRef and byValue are the workflow: one producer and some consumers. Dies is the number of the consumer whose process is
// killed; -1: none.
func byRef(n, consumers, dies int) workflow.Step[[]counted] {
	return fan(consumers, dies, produce.Bind(workflow.Value(n)), consume)
}

func byValue(n, consumers, dies int) workflow.Step[[]counted] {
	return fan(consumers, dies, produceValue.Bind(workflow.Value(n)), consumeValue)
}

func fan[R any](consumers, dies int, from workflow.Step[R], to workflow.F2[R, order, counted]) workflow.Step[[]counted] {
	all := make([]workflow.Arg[counted], consumers)
	for i := range all {
		all[i] = to.Bind(from, workflow.Value(order{Number: i, Dies: i == dies}))
	}
	return collect.Bind(workflow.All(all...))
}
