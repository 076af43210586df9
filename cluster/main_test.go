package cluster_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/phalanx-go/phalanx/internal/leaks"
)

func TestMain(m *testing.M) {
	if config := os.Getenv(benchVar); config != "" { // a node of a benchmark
		if err := runNode(config); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if os.Getenv(touchVar) != "" {
		touch()
		return
	}
	leaks.VerifyTestMain(m)
}
