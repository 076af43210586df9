package httpapi_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
	"github.com/phalanx-go/phalanx/internal/httpapi/fakenode"
)

// Operations are timed and counted by what came of them, also those whose answer broke off.
func TestOperationsAreMeasured(t *testing.T) {
	b := newBed(t, httpapi.Options{})
	b.node.Lose("gone", 1000, "0123456789")
	for i := range 3 {
		b.do(t, "PUT", fmt.Sprintf("/v1/objects/o%d", i), "bytes")
	}
	b.do(t, "GET", "/v1/objects/o1", "")
	b.do(t, "GET", "/v1/objects/nowhere", "")
	b.do(t, "DELETE", "/v1/objects/o1", "")
	b.do(t, "DELETE", "/v1/objects/a%00b", "")
	b.do(t, "POST", "/v1/reduce", `{"target":"t","sources":["o0"],"op":"mean"}`)
	if d, err := b.client.Get(t.Context(), "gone", 0, 0); err == nil {
		_, _ = io.Copy(io.Discard, d)
		_ = d.Close()
	}
	_, metrics := b.do(t, "GET", "/metrics", "")
	for _, line := range []string{
		`phalanx_operation_duration_seconds_count{op="put",outcome="ok"} 3`,
		`phalanx_operation_duration_seconds_count{op="get",outcome="ok"} 1`,
		`phalanx_operation_duration_seconds_count{op="get",outcome="not found"} 1`,
		`phalanx_operation_duration_seconds_count{op="get",outcome="lost"} 1`,
		`phalanx_operation_duration_seconds_count{op="reduce",outcome="unknown op"} 1`,
		`phalanx_operation_errors_total{kind="lost",op="get"} 1`,
		`phalanx_operation_errors_total{kind="invalid",op="delete"} 1`,
		`phalanx_operation_duration_seconds_bucket{op="put",outcome="ok",le="3600"} 3`,
		`phalanx_http_request_duration_seconds_count{method="PUT",route="/v1/objects/{id}"} 3`,
		`phalanx_http_requests_total{method="GET",route="/v1/objects/{id}",status="aborted"} 1`,
	} {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("the metrics have no line %q", line)
		}
	}
	if strings.Contains(metrics, "gone") || strings.Contains(metrics, "nowhere") {
		t.Error("the metrics have an object's id")
	}
}

// However many objects there were and whatever was asked for, there are as many series.
func TestMetricsDoNotGrow(t *testing.T) {
	b := newBed(t, httpapi.Options{})
	series := func(from, to int) int {
		for i := from; i < to; i++ {
			id := phalanx.ObjectID(fmt.Sprintf("o%d", i))
			b.do(t, "PUT", "/v1/objects/"+string(id), "bytes")
			b.do(t, "GET", "/v1/objects/"+string(id), "")
			b.do(t, "GET", fmt.Sprintf("/v%d/none", i), "")
			b.do(t, fmt.Sprintf("METHOD%d", i), "/v1/objects/x", "")
		}
		_, metrics := b.do(t, "GET", "/metrics", "")
		return len(regexp.MustCompile(`(?m)^phalanx_`).FindAllString(metrics, -1))
	}
	series(0, 1) // and the metrics themselves
	few := series(1, 2)
	if many := series(2, 200); many != few {
		t.Errorf("%d series after a few requests, %d after many", few, many)
	}
}

// gone is a client that has gone.
type gone struct{ http.ResponseWriter }

func (gone) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// A client that goes away in the middle of an object is no error of the node.
func TestAClientThatGoesIsCountedAsCanceled(t *testing.T) {
	n := fakenode.New()
	h := httpapi.New(n, httpapi.Options{Logger: quiet()}).Handler()
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("PUT", "/v1/objects/o", strings.NewReader("0123456789")))
	func() {
		defer func() {
			if p := recover(); p != http.ErrAbortHandler {
				t.Errorf("it ended with %v", p)
			}
		}()
		h.ServeHTTP(gone{httptest.NewRecorder()}, httptest.NewRequest("GET", "/v1/objects/o", nil))
	}()
	metrics := httptest.NewRecorder()
	h.ServeHTTP(metrics, httptest.NewRequest("GET", "/metrics", nil))
	if want := `phalanx_operation_errors_total{kind="canceled",op="get"} 1`; !strings.Contains(metrics.Body.String(), want+"\n") {
		t.Errorf("the metrics have no line %q", want)
	}
}
