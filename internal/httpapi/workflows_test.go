package httpapi_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

// The requests of docs/http.md, in its order.
func TestWorkflowsOfTheDocument(t *testing.T) {
	b := newBed(t, httpapi.Options{})
	const at, json = "/v1/workflows/order/42", "application/json"
	b.node.StartRun("order/42")
	b.node.StartRun("other")
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/v1/workflows?prefix=order/", "", 200, `{"workflows":[{"id":"order/42","uid":"run-1","state":"open"}]}`},
		{"GET", "/v1/workflows?after=order/42&limit=1", "", 200, `{"workflows":[{"id":"other","uid":"run-2","state":"open"}]}`},
		{"GET", at, "", 200, `{"id":"order/42","uid":"run-1","state":"open","tasks":1,"ended":0,"running":1,"ready":0}`},
		{"POST", at + "/events/approved?key=ann-1", `{"by":"ann"}`, 200, `{"id":"order/42","name":"approved","key":"ann-1"}`},
		{"GET", at + "/history?limit=1", "", 200, `{"history":[{"number":1,"at_ns":1000000000,"epoch":2,"what":"begun","task":"held"}]}`},
		{"GET", at + "/graph", "", 200, `{"tasks":[{"name":"held","runs":"held@1","checkpoint":"async","effect":"none","state":"running","attempts":2,"node":"n1#1","why":"its node has left"}]}`},
		{"POST", at + "/resume", `{"with":["pay@2"]}`, 204, ""},
		{"POST", at + "/resume", `{"accept_loss":true}`, 204, ""},
		{"POST", at + "/cancel", `{"cause":"the customer has left"}`, 204, ""},
		{"GET", at, "", 200, `{"id":"order/42","uid":"run-1","state":"finished","why":"it was canceled: the customer has left","tasks":0,"ended":0,"running":0,"ready":0}`},
		{"GET", at + "/history?limit=1", "", 200, `{"history":[{"number":1,"at_ns":1000000000,"epoch":2,"what":"begun","task":"held"}],"next":1}`},
		{"GET", at + "/history?after=1&limit=1", "", 200, `{"history":[{"number":2,"at_ns":3000000000,"epoch":2,"what":"ended","task":"held"},` +
			`{"number":2,"at_ns":3000000000,"epoch":2,"what":"closed","text":"it was canceled: the customer has left"}]}`},
		{"GET", "/v1/ledger", "", 200, `{"leader":"n1#1","epoch":7,"disks":[{"disk":"a1","node":"n1#1","address":"10.0.0.1:7000","host":"one","holds":true,"leads":true,"silent_ns":0},` +
			`{"disk":"b2","node":"n2#2","address":"10.0.0.2:7000","host":"two","holds":true,"silent_ns":100000000},{"disk":"c3","address":"10.0.0.3:7000","holds":true,"silent_ns":130000000000},` +
			`{"disk":"d4","node":"n4#4","address":"10.0.0.4:7000","host":"four","holds":false,"temporary":true,"silent_ns":90000000}]}`},
		{"DELETE", at, "", 204, ""},
		{"GET", "/v1/workflows?prefix=order", "", 200, `{"workflows":[{"id":"order/42","uid":"run-1","state":"forgotten"}]}`},
	} {
		res, body := b.do(t, c.method, c.path, c.body, "Content-Type", json)
		if res.StatusCode != c.status || c.want != "" && body != c.want+"\n" || c.want == "" && body != "" {
			t.Errorf("%s %s: %d %s, want %d %s", c.method, c.path, res.StatusCode, body, c.status, c.want)
		}
	}
	if want := []string{`order/42 approved ann-1 "{\"by\":\"ann\"}"`}; !slices.Equal(b.node.Took, want) {
		t.Errorf("the run has taken %q", b.node.Took)
	}
}

func TestResultOfAWorkflow(t *testing.T) {
	b := newBed(t, httpapi.Options{})
	b.node.StartRun("a")
	res, body := b.do(t, "GET", "/v1/workflows/a/result?timeout=20ms", "")
	wantError(t, res, body, http.StatusGatewayTimeout, phalanx.ErrDeadline, "timeout= over HTTP")
	b.node.EndRun("a", []byte("\x00bytes\xff"), "")
	if res, body := b.do(t, "GET", "/v1/workflows/a/result", ""); res.StatusCode != 200 || body != "\x00bytes\xff" || res.Header.Get("Content-Length") != "7" || res.Header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("%d %q %v", res.StatusCode, body, res.Header)
	}
	if got, err := b.client.WorkflowResult(t.Context(), "a", 0); err != nil || string(got) != "\x00bytes\xff" {
		t.Errorf("%q, %v", got, err)
	}
	b.node.StartRun("b")
	b.node.EndRun("b", nil, "task pay has failed: there is no money")
	res, body = b.do(t, "GET", "/v1/workflows/b/result", "")
	wantError(t, res, body, http.StatusBadGateway, phalanx.ErrFailed, "there is no money")
	if res, body := b.do(t, "HEAD", "/v1/workflows/b/result", ""); res.StatusCode != http.StatusBadGateway || body != "" {
		t.Errorf("HEAD: %d %q", res.StatusCode, body)
	}
}

func TestWorkflowsThatCannotBe(t *testing.T) {
	b := newBed(t, httpapi.Options{})
	b.node.StartRun("open")
	b.node.StartRun("ended")
	b.node.EndRun("ended", nil, "")
	for _, c := range []struct {
		method, path, body string
		status             int
		kind               phalanx.Kind
		text               string
	}{
		{"GET", "/v1/workflows/none", "", 404, phalanx.ErrNotFound, `"object":"none"`},
		{"GET", "/v1/workflows/none/result", "", 404, phalanx.ErrNotFound, "phalanx workflow ls"},
		{"DELETE", "/v1/workflows/open", "", 400, phalanx.ErrInvalid, "cancel it before"},
		{"POST", "/v1/workflows/ended/cancel", `{"cause":"late"}`, 409, phalanx.ErrClosed, "has ended: phalanx workflow status"},
		{"POST", "/v1/workflows/ended/resume", `{}`, 409, phalanx.ErrClosed, "has ended"},
		{"POST", "/v1/workflows/ended/events/go", "", 409, phalanx.ErrClosed, "has ended"},
		{"POST", "/v1/workflows/open/resume", `{"with":["pay"]}`, 400, phalanx.ErrInvalid, "such as pay@2"},
		{"POST", "/v1/workflows/open/resume", `{"with":["pay@-1"]}`, 400, phalanx.ErrInvalid, "such as pay@2"},
		{"POST", "/v1/workflows/open/cancel", `{"reason":"x"}`, 400, phalanx.ErrInvalid, "reason"},
		{"GET", "/v1/workflows?limit=0", "", 400, phalanx.ErrInvalid, "not a number from 1"},
		{"GET", "/v1/workflows?limt=1", "", 400, phalanx.ErrInvalid, "limit"},
		{"GET", "/v1/workflows/open/history?limit=0", "", 400, phalanx.ErrInvalid, "not a number from 1"},
		{"GET", "/v1/workflows/open/history?after=x", "", 400, phalanx.ErrInvalid, "not the number of an element"},
		{"GET", "/v1/workflows/open/graph?format=svg", "", 400, phalanx.ErrInvalid, "neither json nor dot"},
		{"GET", "/v1/workflows/none/graph", "", 404, phalanx.ErrNotFound, "phalanx workflow ls"},
		{"GET", "/v1/workflows/none/history", "", 404, phalanx.ErrNotFound, "phalanx workflow ls"},
		{"GET", "/v1/workflows/", "", 400, phalanx.ErrInvalid, "empty"},
		{"PUT", "/v1/workflows/open", "", 405, phalanx.ErrInvalid, "DELETE, GET, HEAD"},
		{"GET", "/v1/workflows/open/cancel", "", 405, phalanx.ErrInvalid, "POST"},
	} {
		res, body := b.do(t, c.method, c.path, c.body, "Content-Type", "application/json")
		wantError(t, res, body, c.status, c.kind, c.text)
	}
	big := make([]byte, 1<<20+1)
	if _, err := b.client.WorkflowSignal(t.Context(), "open", "go", "", big, 0); err == nil {
		t.Error("a signal of more than a megabyte is taken")
	}
}

// Ids and names of signals may have slashes, dots, and the words of the paths.
func TestWorkflowIDsOfAllKinds(t *testing.T) {
	b := newBed(t, httpapi.Options{})
	for _, id := range []string{"a", "a/b", "a//b", "/a/", "a/../b", ".", "..", "a b?c#d&e=f", "100%", "a%2Fb", "größe/∞", "a/result", "events/x", "a/events/x", "result"} {
		b.node.StartRun(id)
		if st, err := b.client.WorkflowStatus(t.Context(), id, 0); err != nil || st.ID != id {
			t.Errorf("%q: %+v, %v", id, st, err)
		}
		if s, err := b.client.WorkflowSignal(t.Context(), id, id, "", []byte("x"), 0); err != nil || s.ID != id || s.Name != id || s.Key == "" {
			t.Errorf("%q: %+v, %v", id, s, err)
		}
		if err := b.client.WorkflowCancel(t.Context(), id, httpapi.CancelRequest{Cause: "c"}); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	b.node.StartRun("typed/by/hand")
	for path, method := range map[string]string{"/v1/workflows/typed/by/hand": "GET", "/v1/workflows/typed/by/hand/resume": "POST"} {
		res, body := b.do(t, method, path, "{}")
		if method == "GET" {
			var st httpapi.RunStatus
			if err := json.Unmarshal([]byte(body), &st); err != nil || st.ID != "typed/by/hand" {
				t.Errorf("%s: %s, %v", path, body, err)
			}
		} else if res.StatusCode != http.StatusNoContent {
			t.Errorf("%s: %d %s", path, res.StatusCode, body)
		}
	}
}
