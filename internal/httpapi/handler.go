package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx"
)

// handler answers a request, or returns an error before it has written anything; a
// *cut if it has.
type handler func(w http.ResponseWriter, r *http.Request) error

// serve has h answer the requests for op, and measures how long that takes.
func (s *Server) serve(op string, h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		err := h(w, r)
		s.metrics.took(op, time.Since(began), err)
		var broken *cut
		switch {
		case errors.As(err, &broken):
			s.opts.Logger.WithError(broken.error).Debug("an answer broke off")
			panic(http.ErrAbortHandler) // it must not look complete
		case err != nil:
			writeError(w, r, err)
		}
	}
}

// cut is an error after a part of the answer was sent. Only a broken connection can tell it.
type cut struct{ error }

func (c *cut) Unwrap() error { return c.error }

// refusal is an error with another status than its kind has.
type refusal struct {
	status int
	error
}

func (r *refusal) Unwrap() error { return r.error }

// headerError tells the kind of an error also where there is no body.
const headerError = "Phalanx-Error"

// writeError answers with err.
func writeError(w http.ResponseWriter, r *http.Request, err error) {
	status := StatusOf(err)
	var refused *refusal
	if errors.As(err, &refused) {
		status = refused.status
	}
	if r.Context().Err() != nil && errors.Is(err, phalanx.ErrCanceled) {
		status = StatusClosedRequest // the client has gone, but it is counted
	}
	writeStatus(w, status, err)
}

func writeStatus(w http.ResponseWriter, status int, err error) {
	info := DescribeError(err)
	w.Header().Set(headerError, info.Kind)
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	writeJSON(w, status, errorBody{Error: info})
}

// writeJSON answers with v, which JSON can express.
func writeJSON(w http.ResponseWriter, status int, v any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the caller has gone if this fails
}

// readJSON reads the body into v, and nothing that v does not have.
func readJSON(w http.ResponseWriter, r *http.Request, op string, v any) error {
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil && t != "application/json" && t != "application/x-www-form-urlencoded" { // curl -d says the latter
		return invalid(op, "", "the body is %s, not application/json", t)
	}
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxJSON))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return invalid(op, "", "the body is not the JSON that is expected: %v", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return invalid(op, "", "the body has more than one JSON value")
	}
	return nil
}

// query returns the parameters of r, and refuses all but allowed ones. It also refuses headers that
// would not have the effect that they ask for.
func query(r *http.Request, op string, allowed ...string) (url.Values, error) {
	if err := checkHeaders(r, op); err != nil {
		return nil, err
	}
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, invalid(op, "", "the query: %v", err)
	}
	for name, values := range q {
		if !slices.Contains(allowed, name) {
			return nil, invalid(op, "", "there is no parameter %q: %s", name, those(r, allowed))
		}
		if len(values) != 1 {
			return nil, invalid(op, "", "the parameter %q is there %d times", name, len(values))
		}
	}
	return q, nil
}

// those lists the parameters or headers that r may have.
func those(r *http.Request, known []string) string {
	if len(known) == 0 {
		return fmt.Sprintf("there are none of %s here", r.Method)
	}
	return fmt.Sprintf("those of %s here are %s", r.Method, strings.Join(known, ", "))
}

// checkHeaders refuses a Phalanx-… header that r does not have, and a precondition that would be
// ignored.
func checkHeaders(r *http.Request, op string) error {
	for name, values := range r.Header { // their names are canonical
		switch {
		case strings.HasPrefix(name, "Phalanx-"):
			if r.Method != http.MethodPut || !slices.ContainsFunc(putHeaders, func(known string) bool { return http.CanonicalHeaderKey(known) == name }) {
				known := putHeaders
				if r.Method != http.MethodPut {
					known = nil
				}
				return invalid(op, "", "there is no request header %s: %s", name, those(r, known))
			}
			if len(values) != 1 {
				return invalid(op, "", "the header %s is there %d times", name, len(values))
			}
		case name == "If-Match" && !reads(r), name == "If-None-Match" && !reads(r) && r.Method != http.MethodPut:
			return invalid(op, "", "%s is not understood with %s of %s", name, r.Method, r.URL.Path)
		}
	}
	return nil
}

// reads reports whether r reads an object, which has an ETag to compare with.
func reads(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && strings.HasPrefix(r.URL.Path, "/v1/objects/")
}

// maxTimeout bounds the timeout of a request.
const maxTimeout = 24 * time.Hour

// parseTimeout returns the duration that the parameter name has, or otherwise.
func parseTimeout(op, name, value string, otherwise time.Duration) (time.Duration, error) {
	if value == "" {
		return otherwise, nil
	}
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 || d > maxTimeout {
		return 0, invalid(op, "", "%s: %q is not a duration from 0s to 24h, such as 500ms or 5s", name, value)
	}
	return d, nil
}

// within returns r's context with the timeout that value asks for.
func within(r *http.Request, op, value string, otherwise time.Duration) (context.Context, context.CancelFunc, error) {
	d, err := parseTimeout(op, "timeout", value, otherwise)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), d)
	return ctx, cancel, nil
}

// pathID returns the id in r's path.
func pathID(r *http.Request, op string) (phalanx.ObjectID, error) {
	id := phalanx.ObjectID(r.PathValue("id"))
	return id, validID(op, id)
}

func validID(op string, id phalanx.ObjectID) error {
	if err := id.Validate(); err != nil {
		e := *typed(err)
		e.Op = op
		return &e
	}
	return nil
}

func notAllowed(allowed string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allowed)
		writeStatus(w, http.StatusMethodNotAllowed, invalid("", "", "%s does not allow %s, only %s", r.URL.Path, r.Method, allowed))
	}
}

// sameOrigin refuses requests of web pages of other origins, also where they only read.
func sameOrigin(next http.Handler) http.Handler {
	pages := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		strict := *r
		strict.Method = http.MethodPost // it lets GET, HEAD and OPTIONS through
		if pages.Check(&strict) != nil {
			otherOrigin(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func otherOrigin(w http.ResponseWriter) {
	writeStatus(w, http.StatusForbidden, &phalanx.Error{Kind: phalanx.ErrRefused, Err: errors.New("the request comes from a web page of another origin")})
}

func notHere(w http.ResponseWriter, r *http.Request) {
	writeStatus(w, http.StatusNotFound, invalid("", "", "there is no %s: objects are at /v1/objects/{id}", r.URL.Path))
}
