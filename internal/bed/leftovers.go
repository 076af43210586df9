package bed

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// prefix begins the names of all namespaces of all beds.
const prefix = "phalanx-bed-"

// tools are the commands that build a bed, and their Debian packages.
var tools = [][2]string{{"ip", "iproute2"}, {"tc", "iproute2"}, {"nft", "nftables"}}

// Missing returns an error that names what this process lacks to build beds, or nil.
func Missing() error {
	if os.Geteuid() != 0 {
		return errors.New("bed: network namespaces need root")
	}
	for _, tool := range tools {
		if _, err := exec.LookPath(tool[0]); err != nil {
			return fmt.Errorf("bed: the command %s is missing (package %s)", tool[0], tool[1])
		}
	}
	ns := owner() + "-probe"
	if err := run("", "ip", "netns", "add", ns); err != nil { // as in most containers
		return err
	}
	err := run("table inet probe\n", "ip", "netns", "exec", ns, "nft", "-f", "-")
	return errors.Join(err, run("", "ip", "netns", "del", ns))
}

// Need skips a test where there can be no beds. A benchmark fails: go test prints the reason of a skip
// only with -v, and a benchmark runs only if somebody asks for it.
func Need(t interface {
	Helper()
	Skip(args ...any)
	Fatal(args ...any)
}) {
	t.Helper()
	err := Missing()
	_, bench := t.(interface{ ReportMetric(float64, string) })
	switch {
	case err == nil:
	case bench:
		t.Fatal(err)
	default:
		t.Skip(err)
	}
}

// owner begins the names of this process's beds. It has the process's begin, since
// another process will get the same number.
func owner() string {
	return fmt.Sprintf("%s%d-%s", prefix, os.Getpid(), began(os.Getpid()))
}

// began is when a process began, in ticks since the start of the machine, or "" if
// there is no such process.
func began(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The second field is the program's name in parentheses, which can have any characters.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return fields[19]
}

// Clean removes the beds of processes that have ended.
func Clean() error {
	all, err := namespaces()
	var errs []error
	for _, ns := range all {
		parts := strings.Split(strings.TrimPrefix(ns, prefix), "-")
		pid, bad := strconv.Atoi(parts[0])
		if bad != nil || len(parts) < 2 || parts[1] == began(pid) {
			continue
		}
		errs = append(errs, drop(ns))
	}
	return errors.Join(append(errs, err)...)
}

// remove removes the namespaces of one bed.
func remove(name string) error {
	all, err := namespaces()
	var errs []error
	for _, ns := range all {
		if strings.HasPrefix(ns, name+"-") {
			errs = append(errs, drop(ns))
		}
	}
	return errors.Join(append(errs, err)...)
}

// namespaces returns the namespaces of all beds.
func namespaces() ([]string, error) {
	out, err := output("", "ip", "netns", "list")
	if err != nil {
		return nil, err
	}
	var all []string
	for line := range strings.Lines(out) {
		if name, _, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(name, prefix) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all, nil
}

// drop removes a namespace and kills its processes, hung ones too: they would keep
// its links.
func drop(ns string) error {
	out, err := output("", "ip", "netns", "pids", ns)
	for _, word := range strings.Fields(out) {
		if pid, bad := strconv.Atoi(word); bad == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return errors.Join(err, run("", "ip", "netns", "del", ns))
}
