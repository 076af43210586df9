package faults

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/internal/bed"
	"github.com/phalanx-go/phalanx/internal/leaks"
)

// nodeVar has the test binary be a node, with this configuration.
const nodeVar = "PHALANX_FAULTS_NODE"

// patience bounds every call and every wait.
const patience = 40 * time.Second

const (
	hosts = 7
	rate  = 200_000_000     // bits per second: an object needs a second, which is long enough to be hit
	large = int64(24 << 20) // bytes of an object
)

// wide has each test try every fault, not only those that every run has.
var wide = flag.Bool("wide", false, "try every fault, which takes some twenty minutes")

// shared is the bed of all tests, built when it is needed first.
var shared *bed.Bed

func TestMain(m *testing.M) {
	if cfg := os.Getenv(nodeVar); cfg != "" {
		if err := beNode(cfg); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if race { // what is measured here is time; what races is tested within one process
		fmt.Println("skipped: not with the race detector")
		os.Exit(0)
	}
	code := m.Run()
	var err error
	if shared != nil {
		err = shared.Close()
	}
	if err == nil {
		err = leaks.Find()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}
