package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/phalanx-go/phalanx/bench/workflows/load"
	"github.com/phalanx-go/phalanx/workflow"
)

// forgotten is what is left of runs that have ended and were forgotten. Their ids stay for 20 minutes.
type forgotten struct {
	Runs   int   // forgotten between the looks before and after
	Before int64 // bytes of heap of the node that leads, without garbage, after as many runs as warmed: the least of some looks
	After  int64
	Disk   int64 // bytes of the largest folder
}

const (
	warmed        = 5000 // runs before the first look
	looks         = 20
	betweenLooks  = 1000 // runs
	forgetClients = 128
)

// measureForgotten has runs end and be forgotten, and prints what is left of them.
func measureForgotten(ctx context.Context, system, dir string, runs int) (err error) {
	c, err := open(ctx, load.Point{System: system, Dir: dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.forget(ctx, "warm", warmed); err != nil {
		return err
	}
	f := forgotten{Runs: runs}
	if f.Before, err = c.leastHeap(ctx, "before"); err != nil {
		return err
	}
	if err := c.forget(ctx, "run", runs); err != nil {
		return err
	}
	if f.After, err = c.leastHeap(ctx, "after"); err != nil {
		return err
	}
	folders, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, d := range folders {
		size, err := sizeOf(filepath.Join(dir, d.Name()))
		if err != nil {
			return err
		}
		f.Disk = max(f.Disk, size)
	}
	return json.NewEncoder(os.Stdout).Encode(f)
}

// forget starts runs of one task, waits for each, and has it forgotten.
func (c *phalanx) forget(ctx context.Context, prefix string, runs int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var all sync.WaitGroup
	for range forgetClients {
		all.Go(func() {
			for {
				i := next.Add(1)
				if i > int64(runs) || ctx.Err() != nil {
					return
				}
				id := fmt.Sprintf("%s/%d", prefix, i)
				if err := errors.Join(c.Chain(ctx, id, 1), workflow.Forget(ctx, c.node, id)); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// leastHeap has runs be forgotten and returns the least heap between them: replicas keep a part of the ledger's log in memory, which grows
// by some MB before they cut it, in as many as 10,000 runs.
func (c *phalanx) leastHeap(ctx context.Context, prefix string) (least int64, err error) {
	for i := range looks {
		if err := c.forget(ctx, fmt.Sprint(prefix, i), betweenLooks); err != nil {
			return 0, err
		}
		if h := heap(); i == 0 || h < least {
			least = h
		}
	}
	return least, nil
}

// heap returns how many bytes are in use without garbage.
func heap() int64 {
	runtime.GC()
	runtime.GC() // the contents of a sync.Pool survive one
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// sizeOf returns how many bytes the files of a folder have.
func sizeOf(dir string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return ignoreGone(err)
		}
		i, err := d.Info()
		if err == nil {
			sum += i.Size()
		}
		return ignoreGone(err)
	})
	return sum, err
}

// ignoreGone returns err, unless a file is gone meanwhile.
func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
