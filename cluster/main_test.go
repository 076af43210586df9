package cluster_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/phalanx-go/phalanx/internal/children/nodes"
	"github.com/phalanx-go/phalanx/internal/leaks"
)

func TestMain(m *testing.M) {
	if place := os.Getenv(nodes.Variable); place != "" { // a node of a benchmark
		if err := runNode(place); err != nil {
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
