package main

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestQuick(t *testing.T) {
	defer goleak.VerifyNone(t)
	var out strings.Builder
	if err := run(t.Context(), &out, 3, 2, true); err != nil {
		t.Error(err)
	}
	if !strings.Contains(out.String(), "30 sums were recomputed and right") {
		t.Errorf("it printed:\n%s", &out)
	}
}
