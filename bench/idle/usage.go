package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// usage is a process's use of cores since it began.
type usage struct {
	core     time.Duration // on a core
	switches int           // because it waited, or forced
	forced   int           // of them, because the system gave the core to another process
}

// read returns the usage of a process, of all its threads. It misses threads that have
// ended; threads of a Go program stay.
func read(pid int) (u usage, err error) {
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil {
		return u, err
	}
	if len(tasks) == 0 {
		return u, fmt.Errorf("there is no process %d", pid)
	}
	for _, task := range tasks {
		times, err := os.ReadFile(filepath.Join(task, "schedstat"))
		if err != nil {
			return u, err
		}
		status, err := os.ReadFile(filepath.Join(task, "status"))
		if err != nil {
			return u, err
		}
		one, err := parse(string(times), string(status))
		if err != nil {
			return u, fmt.Errorf("%s: %w", task, err)
		}
		u.core += one.core
		u.switches += one.switches
		u.forced += one.forced
	}
	return u, nil
}

// parse reads the files schedstat, whose first number are the nanoseconds on a core, and
// status of a thread.
func parse(schedstat, status string) (u usage, err error) {
	first, _, _ := strings.Cut(schedstat, " ")
	core, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		return u, fmt.Errorf("schedstat: %w", err)
	}
	u.core = time.Duration(core)
	found := 0
	for line := range strings.Lines(status) {
		name, text, _ := strings.Cut(line, ":")
		if name != "voluntary_ctxt_switches" && name != "nonvoluntary_ctxt_switches" {
			continue
		}
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil {
			return u, fmt.Errorf("status: %w", err)
		}
		u.switches += n
		if name == "nonvoluntary_ctxt_switches" {
			u.forced += n
		}
		found++
	}
	if found != 2 {
		return u, fmt.Errorf("status: it names %d of the two kinds of context switches", found)
	}
	return u, nil
}
