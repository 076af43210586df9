package load

import (
	"context"
	"fmt"
	"path/filepath"
	"time"
)

// Killed is the part in which the process that executes a task is killed.
const Killed = "killed"

const (
	killedTasks = 20                    // of its chain
	killedTask  = 50 * time.Millisecond // how long each of them takes
	killedAt    = 5                     // the task that is under way then
	goesOnFor   = 5 * time.Minute       // that a round takes at most
)

// Killable is a system whose processes can be killed.
type Killable interface {
	// Begin starts a run of n tasks, one after the other, of which each calls Step with its number, from 0, and
	// the diary. The function that it returns waits for the end of the run.
	Begin(ctx context.Context, id string, n int, d Diary) (ended func(context.Context) error, err error)
	// Kill kills a process (SIGKILL). If none is left that could go on, it is started again at once.
	Kill(pid int) error
	// Mend starts again what was killed.
	Mend(ctx context.Context) error
}

// Step is what a task of Begin does.
func Step(ctx context.Context, d Diary, task int) error {
	if err := d.Begin(task); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(killedTask):
		return nil
	}
}

// MeasureKilled kills the process of a task in each of several runs. The samples are the milliseconds until a task begins
// elsewhere, or again.
func MeasureKilled(ctx context.Context, s Killable, dir string, rounds int) (all Samples, err error) {
	began := time.Now()
	for i := range rounds {
		d := Diary(filepath.Join(dir, fmt.Sprint("diary", i)))
		took, err := killOnce(ctx, s, fmt.Sprint(Killed, "/", i), d)
		if err != nil {
			return all, fmt.Errorf("round %d: %w", i, err)
		}
		all.Took = append(all.Took, float64(took.Microseconds())/1000)
	}
	all.Over = time.Since(began).Seconds()
	return all, nil
}

func killOnce(ctx context.Context, s Killable, id string, d Diary) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, goesOnFor)
	defer cancel()
	ended, err := s.Begin(ctx, id, killedTasks, d)
	if err != nil {
		return 0, err
	}
	victim, err := d.Wait(ctx, func(e Entry) bool { return e.Task == killedAt })
	if err != nil {
		return 0, err
	}
	killed := time.Now()
	if err := s.Kill(victim.PID); err != nil {
		return 0, err
	}
	next, err := d.Wait(ctx, func(e Entry) bool { return e.At.After(killed) && e.PID != victim.PID })
	if err != nil {
		return 0, fmt.Errorf("after the kill of process %d no task has begun: %w", victim.PID, err)
	}
	if err := ended(ctx); err != nil {
		return 0, err
	}
	return next.At.Sub(killed), s.Mend(ctx)
}
