package barriers

import (
	"os"
	"strconv"
	"testing"
)

func TestTrace(t *testing.T) {
	s, err := strconv.ParseUint(os.Getenv("BARRIER_SEED"), 10, 64)
	if err != nil {
		t.Skip("no seed")
	}
	if err := Run(Config{Seed: s, Trace: os.Stdout}); err != nil {
		t.Fatal(err)
	}
}
