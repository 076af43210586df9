package workflow

import (
	"os"
	"regexp"
	"strings"
	"testing"

	core "github.com/phalanx-go/phalanx/protocol/workflow"
)

// The documents have each word that History says.
func TestWordsOfHistory(t *testing.T) {
	page, err := os.ReadFile("../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	section := regexp.MustCompile("(?s)`what` is .*?`text` says more").FindString(string(page))
	source, err := os.ReadFile("history.go")
	if err != nil {
		t.Fatal(err)
	}
	field := regexp.MustCompile("What .*`json:\"what\"`.*").FindString(string(source))
	s, said := &story{}, map[string]bool{}
	for _, rec := range []core.Record{
		core.Begun{}, core.Ended{}, core.Ended{Output: core.Output{Error: "x"}}, core.Saved{}, core.Unsaved{}, core.Expanded{Graph: &core.Graph{}}, core.Slept{},
		core.Signalled{}, core.Recovering{}, core.Undone{}, core.Undone{Left: true}, core.Compensated{}, core.Failing{}, core.Cancelled{}, core.Resumed{}, core.Closed{},
	} {
		what := s.happened(rec).What
		if said[what] = true; !strings.Contains(section, "`"+what+"`") || !strings.Contains(field, what) {
			t.Errorf("%T is %q, which docs/http.md or the field's comment does not have", rec, what)
		}
	}
	if n := strings.Count(section, "`") / 2; n < len(said) {
		t.Errorf("%d words are documented, %d are said", n, len(said))
	}
}
