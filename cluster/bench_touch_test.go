package cluster_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

const touchVar = "PHALANX_BENCH_TOUCH" // a process that only touches memory

// touching returns at how many MB/s a new process touches a gigabyte of memory
// as the data plane maps it. Under a hypervisor that takes back what is free it can
// be far slower than moving bytes.
func touching(b *testing.B) float64 {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), touchVar+"=1")
	out, err := cmd.Output()
	if err != nil {
		b.Fatal(err)
	}
	took, err := time.ParseDuration(string(out))
	if err != nil {
		b.Fatal(err)
	}
	return gigabyte / 1e6 / took.Seconds()
}

// touch is the main of that process: it tells how long a gigabyte took.
func touch() {
	began := time.Now()
	if !dataplane.NewPool(dataplane.NewBudget(gigabyte)).Warm(gigabyte) {
		os.Exit(1)
	}
	_, _ = os.Stdout.WriteString(time.Since(began).String())
}
