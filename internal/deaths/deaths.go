// Package deaths has attempts of tasks kill their processes: each one of a number, by turns before and after it has taken
// effect.
package deaths

import (
	"os"
	"syscall"
)

// When is when an attempt kills its process.
type When int

const (
	Never When = iota
	BeforeEffect
	AfterEffect
)

// Die kills this process.
func Die() error { return syscall.Kill(os.Getpid(), syscall.SIGKILL) }

// Counter counts attempts in a file of that path, which no kill of a process changes.
type Counter string

// Next counts an attempt, and says whether it is its turn to die: each attempt of that number is; 0: none.
func (c Counter) Next(every int) (When, error) {
	f, err := os.OpenFile(string(c), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return Never, err
	}
	defer func() { _ = f.Close() }() // nothing was buffered
	if _, err := f.Write([]byte{'.'}); err != nil {
		return Never, err
	}
	n, err := f.Seek(0, 1) // behind the own byte
	switch {
	case err != nil || every == 0 || n%int64(every) != 0:
		return Never, err
	case n/int64(every)%2 == 0:
		return AfterEffect, nil
	}
	return BeforeEffect, nil
}

// Count returns how many attempts there were.
func (c Counter) Count() (int, error) {
	i, err := os.Stat(string(c))
	if err != nil {
		return 0, err
	}
	return int(i.Size()), nil
}
