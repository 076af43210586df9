package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx/internal/httpapi"
	"github.com/phalanx-go/phalanx/internal/httpapi/fakenode"
	"github.com/phalanx-go/phalanx/workflow"
)

// Ctrl-C ends the wait, and not the run: the error says so.
func TestInterruptedWait(t *testing.T) {
	node := fakenode.New()
	node.StartRun("order/42")
	ctx, interrupt := context.WithCancel(t.Context())
	api := httpapi.New(node, httpapi.Options{Logger: quiet()}).Handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		interrupt()
		api.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	var out, errs bytes.Buffer
	code := (&bed{}).app("", &out, &errs).run(ctx, []string{"workflow", "wait", "order/42", "--addr", server.URL})
	if code != httpapi.ExitCode(context.Canceled) || out.Len() > 0 || !strings.Contains(errs.String(), `wait "order/42": canceled: the run goes on: phalanx workflow wait`) {
		t.Errorf("exit %d, %q, %q", code, &out, &errs)
	}
	if st, err := node.WorkflowStatus(t.Context(), "order/42"); err != nil || st.State != workflow.Open {
		t.Errorf("%+v, %v", st, err)
	}
}
