package httpapi

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/phalanx-go/phalanx"
)

// tags are the entity tags of a header such as If-Match, or any.
type tags struct {
	any  bool
	list []tag
}

// tag is an entity tag as it is written, with its quotes and without W/.
type tag struct {
	text string
	weak bool
}

// strong reports whether t has want by the strong comparison of HTTP, which a weak tag never
// passes.
func (t *tags) strong(want string) bool {
	return t.any || slices.Contains(t.list, tag{want, false})
}

// weak reports whether t has want by the weak comparison.
func (t *tags) weak(want string) bool {
	return t.any || slices.ContainsFunc(t.list, func(has tag) bool { return has.text == want })
}

// parseTags returns the tags of r's header name; nil if it is not there.
func parseTags(r *http.Request, op, name string) (*tags, error) {
	values := r.Header.Values(name)
	if values == nil {
		return nil, nil
	}
	all := strings.Join(values, ",")
	bad := invalid(op, "", `%s: %q is neither * nor a list of entity tags such as "9f…"`, name, all)
	rest := strings.Trim(all, " \t")
	if rest == "*" {
		return &tags{any: true}, nil
	}
	var out tags
	for {
		rest = strings.TrimLeft(rest, " \t,") // a list may have empty elements
		if rest == "" {
			break
		}
		var t tag
		rest, t.weak = strings.CutPrefix(rest, "W/")
		if !strings.HasPrefix(rest, `"`) {
			return nil, bad
		}
		end := strings.IndexByte(rest[1:], '"')
		if end < 0 || strings.ContainsFunc(rest[1:1+end], func(c rune) bool { return c <= ' ' || c == 0x7f }) {
			return nil, bad
		}
		t.text, rest = rest[:end+2], strings.TrimLeft(rest[end+2:], " \t")
		if rest != "" && rest[0] != ',' {
			return nil, bad
		}
		out.list = append(out.list, t)
	}
	if out.list == nil {
		return nil, bad
	}
	return &out, nil
}

// conditions are the preconditions of a request that reads an object.
type conditions struct{ match, noneMatch *tags }

func parseConditions(r *http.Request, op string) (c conditions, err error) {
	if c.match, err = parseTags(r, op, "If-Match"); err != nil {
		return c, err
	}
	c.noneMatch, err = parseTags(r, op, "If-None-Match")
	return c, err
}

// given reports whether there are any.
func (c conditions) given() bool { return c.match != nil || c.noneMatch != nil }

// answer answers a request for an object that is there, and that the headers of w describe, if the
// caller has it already (304), or with an error if the caller wants another (412). It reports
// whether the request is answered by that. An object that is not final has no ETag.
func (c conditions) answer(w http.ResponseWriter, op string, id phalanx.ObjectID) (done bool, err error) {
	etag := w.Header().Get("ETag")
	switch {
	case c.match != nil && !c.match.strong(etag):
		clear(w.Header())
		if etag == "" {
			return true, precondition(invalid(op, id, "it is not final, so it has no ETag yet that If-Match could name"))
		}
		return true, precondition(invalid(op, id, "its ETag is %s, which If-Match does not name", etag))
	case c.noneMatch != nil && c.noneMatch.weak(etag):
		w.WriteHeader(http.StatusNotModified)
		return true, nil
	}
	return false, nil
}

// precondition returns err as the answer to a request whose precondition fails.
func precondition(err *phalanx.Error) error {
	return &refusal{http.StatusPreconditionFailed, err}
}

// onlyNew reports whether a PUT is to do nothing if the object exists.
func onlyNew(r *http.Request, op string) (bool, error) {
	t, err := parseTags(r, op, "If-None-Match")
	if t != nil && !t.any {
		err = invalid(op, "", "If-None-Match: only * is understood with %s", r.Method)
	}
	return t != nil && err == nil, err
}

func exists(op string, id phalanx.ObjectID) error {
	return precondition(&phalanx.Error{Op: op, Object: id, Kind: phalanx.ErrExists, Err: errors.New("the object exists, and If-None-Match: * asks for a new one")})
}
