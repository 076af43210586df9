package bed_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx/internal/bed"
)

type asker struct{ skipped, failed string }

func (*asker) Helper()             {}
func (a *asker) Skip(args ...any)  { a.skipped = fmt.Sprint(args...) }
func (a *asker) Fatal(args ...any) { a.failed = fmt.Sprint(args...) }

type measurer struct{ asker }

func (*measurer) ReportMetric(float64, string) {}

// Where there can be no beds, a test is skipped, and a benchmark fails and says what is missing.
func TestNeed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var test asker
	bed.Need(&test)
	if test.skipped == "" || test.failed != "" {
		t.Errorf("a test: %+v", test)
	}
	var bench measurer
	bed.Need(&bench)
	if bench.skipped != "" || !strings.Contains(bench.failed, "bed: ") {
		t.Errorf("a benchmark: %+v", bench)
	}
}
