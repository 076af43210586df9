package load

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"time"
)

// Diary is a file in which tasks write that they begin: it is outside of the systems and outlives them.
type Diary string

// Entry says that a process has begun a task.
type Entry struct {
	Task, PID int
	At        time.Time
}

// Begin adds an entry of this process.
func (d Diary) Begin(task int) error {
	f, err := os.OpenFile(string(d), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, task, os.Getpid(), time.Now().UnixNano())
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// Entries returns all that tasks have written.
func (d Diary) Entries() ([]Entry, error) {
	f, err := os.Open(string(d))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []Entry
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var e Entry
		var at int64
		if _, err := fmt.Sscan(lines.Text(), &e.Task, &e.PID, &at); err != nil {
			return nil, fmt.Errorf("%s: %w", d, err)
		}
		e.At = time.Unix(0, at)
		all = append(all, e)
	}
	return all, lines.Err()
}

// Wait returns the first entry that fits, once there is one.
func (d Diary) Wait(ctx context.Context, fits func(Entry) bool) (Entry, error) {
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for {
		all, err := d.Entries()
		if err != nil {
			return Entry{}, err
		}
		for _, e := range all {
			if fits(e) {
				return e, nil
			}
		}
		select {
		case <-ctx.Done():
			return Entry{}, context.Cause(ctx)
		case <-look.C:
		}
	}
}
