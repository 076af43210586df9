package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"

	"github.com/phalanx-go/phalanx/bench/workflows/load"
)

// workerVar has the program be the process that is killed.
const workerVar = "PHALANX_WORKFLOWS_PEER"

// work is what such a process does: it starts the run, or goes on with it.
type work struct {
	System, Dir, ID string
	Tasks           int
	Diary           load.Diary
}

// beWorker is the process that is killed. Once the run has ended it adds an entry to the diary.
func beWorker(as string) error {
	var w work
	if err := json.Unmarshal([]byte(as), &w); err != nil {
		return err
	}
	ctx := context.Background()
	e, err := start(ctx, w.System, w.Dir)
	if err != nil {
		return err
	}
	if err := e.steps(ctx, w.ID, w.Tasks, w.Diary); err != nil {
		return err
	}
	if err := w.Diary.Begin(w.Tasks); err != nil {
		return err
	}
	return e.close()
}

// restarted is a system of one process, which is started again as soon as it is killed.
type restarted struct {
	p    load.Point
	work work
	now  *exec.Cmd
}

func (r *restarted) start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	as, err := json.Marshal(r.work)
	if err != nil {
		return err
	}
	r.now = exec.Command(self)
	r.now.Env, r.now.Stderr = append(os.Environ(), workerVar+"="+string(as)), os.Stderr
	return r.now.Start()
}

// Begin is as load.Killable says.
func (r *restarted) Begin(_ context.Context, id string, n int, d load.Diary) (func(context.Context) error, error) {
	r.work = work{System: r.p.System, Dir: r.p.Dir, ID: id, Tasks: n, Diary: d}
	return func(ctx context.Context) error {
		_, err := d.Wait(ctx, func(e load.Entry) bool { return e.Task == n })
		return err
	}, r.start()
}

// Kill is as load.Killable says.
func (r *restarted) Kill(pid int) error {
	if r.now.Process.Pid != pid {
		return fmt.Errorf("process %d runs no task", pid)
	}
	if err := r.now.Process.Kill(); err != nil {
		return err
	}
	_ = r.now.Wait() // it was killed
	return r.start()
}

// Mend is as load.Killable says: the process ends by itself.
func (r *restarted) Mend(context.Context) error { return r.now.Wait() }
