package keeper_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/phalanx-go/phalanx/internal/leaks"
)

func TestMain(m *testing.M) {
	if value := os.Getenv(processVariable); value != "" {
		if err := be(value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	leaks.VerifyTestMain(m)
}
