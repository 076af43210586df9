package httpapi_test

import (
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

// An error that a newcomer meets says what to do next.
func TestErrorsSayWhatToDoNext(t *testing.T) {
	b := newBed(t, httpapi.Options{})
	b.do(t, "PUT", "/v1/objects/taken", "some")
	res, body := b.do(t, "PUT", "/v1/objects/taken", "other")
	wantError(t, res, body, 409, phalanx.ErrExists, "put it under another id, or delete this one first")
	res, body = b.do(t, "GET", "/v1/objects/nothing", "")
	wantError(t, res, body, 404, phalanx.ErrNotFound, "put it, or wait for it with --wait (wait= over HTTP)")
	res, body = b.do(t, "GET", "/v1/objects/nothing?wai=5s", "")
	wantError(t, res, body, 400, phalanx.ErrInvalid, "those of GET here are wait, timeout")
	res, body = b.do(t, "GET", "/v1/status?timeout=5s", "")
	wantError(t, res, body, 400, phalanx.ErrInvalid, "there are none of GET here")
	res, body = b.do(t, "PUT", "/v1/objects/x", "some", "Phalanx-Type", "float32")
	wantError(t, res, body, 400, phalanx.ErrInvalid, "of PUT here are Phalanx-DType, Phalanx-Shape, Phalanx-Copies")
}
