package main

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestQuick(t *testing.T) {
	defer goleak.VerifyNone(t)
	var out strings.Builder
	if err := run(t.Context(), &out, 4, 8<<20); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"n2 comes when 25 % is written and gets it from n1", "n3 comes when 50 % is written and gets it from n2", "all 3 have"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q but:\n%s", want, &out)
		}
	}
}
