package httpapi_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

var update = flag.Bool("update", false, "write the table of outcomes into docs/http.md")

func TestEveryKindHasAnOutcome(t *testing.T) {
	all := httpapi.Outcomes()
	if len(all) != len(phalanx.Kinds()) {
		t.Fatalf("%d outcomes, %d kinds", len(all), len(phalanx.Kinds()))
	}
	exits := map[int]phalanx.Kind{}
	for i, o := range all {
		if o.Kind != phalanx.Kinds()[i] {
			t.Errorf("row %d is of %v, want %v", i, o.Kind, phalanx.Kinds()[i])
		}
		if other, ok := exits[o.Exit]; ok || o.Exit < 1 || o.Exit > 130 {
			t.Errorf("%v exits with %d, like %v", o.Kind, o.Exit, other)
		}
		exits[o.Exit] = o.Kind
		if o.Status < 400 || o.Meaning == "" || http.StatusText(o.Status) == "" && o.Status != httpapi.StatusClosedRequest {
			t.Errorf("%+v", o)
		}
	}
}

func TestOutcomeOfErrors(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		exit   int
	}{
		{&phalanx.Error{Kind: phalanx.ErrDeleted}, 410, 5},
		{fmt.Errorf("wrapped: %w", &phalanx.Error{Kind: phalanx.ErrNoSpace}), 507, 7},
		{phalanx.ErrLost, 410, 18},
		{context.DeadlineExceeded, 504, 9},
		{context.Canceled, 499, 130},
		{errors.New("unexpected"), 500, 1},
		{phalanx.Kind(99), 500, 1},
	} {
		if s, e := httpapi.StatusOf(c.err), httpapi.ExitCode(c.err); s != c.status || e != c.exit {
			t.Errorf("%v: %d, %d, want %d, %d", c.err, s, e, c.status, c.exit)
		}
	}
	if httpapi.ExitCode(nil) != 0 {
		t.Error("success does not exit with 0")
	}
}

func TestErrorsSurviveTheWire(t *testing.T) {
	for _, k := range phalanx.Kinds() {
		want := &phalanx.Error{Op: "get", Object: "a/b", Node: "n#1", Kind: k, Err: errors.New("because")}
		if got := httpapi.DescribeError(want).Err(); got.Error() != want.Error() || !errors.Is(got, k) {
			t.Errorf("%v became %v", want, got)
		}
	}
	if got := (httpapi.ErrorInfo{Kind: "of a newer version"}).Err(); !errors.Is(got, phalanx.ErrInternal) {
		t.Errorf("an unknown kind became %v", got)
	}
}

// The document's table is the code's.
func TestDocument(t *testing.T) {
	const file, begin, end = "../../docs/http.md", "<!-- outcomes -->\n", "<!-- /outcomes -->"
	doc, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok1 := strings.Cut(string(doc), begin)
	table, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no %q … %q", file, begin, end)
	}
	if *update {
		if err := os.WriteFile(file, []byte(head+begin+httpapi.Markdown()+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if table != httpapi.Markdown() {
		t.Errorf("the table of %s differs; run: go test ./internal/httpapi -run TestDocument -update", file)
	}
	for _, route := range []string{"PUT /v1/objects/{id}", "GET /v1/objects/{id}", "HEAD /v1/objects/{id}", "DELETE /v1/objects/{id}",
		"GET /v1/objects", "GET /v1/stat/{id}", "GET /v1/trees/{id}", "GET /v1/barriers", "GET /v1/groups", "POST /v1/reduce", "POST /v1/prefetch", "GET /v1/status", "GET /v1/events",
		"GET /v1/workflows", "GET /v1/workflows/{id}", "GET /v1/ledger", "GET /v1/workflows/{id}/result", "GET /v1/workflows/{id}/history", "GET /v1/workflows/{id}/graph", "POST /v1/workflows/{id}/cancel", "POST /v1/workflows/{id}/resume",
		"POST /v1/workflows/{id}/events/{name}", "DELETE /v1/workflows/{id}", "GET /livez", "GET /readyz", "GET /metrics", "/debug/pprof/"} {
		if !strings.Contains(string(doc), "`"+route) {
			t.Errorf("%s does not tell of %s", file, route)
		}
	}
}
