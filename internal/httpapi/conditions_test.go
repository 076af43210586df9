package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

// The answer to a GET or HEAD follows the preconditions that name the ETag.
func TestPreconditions(t *testing.T) {
	b := newBed(t, httpapi.Options{})
	if res, body := b.do(t, "PUT", "/v1/objects/c", "0123456789"); res.StatusCode != 201 {
		t.Fatal(body)
	}
	tag := `"` + b.stat(t, "c").Digest + `"`
	for _, c := range []struct {
		headers []string
		status  int
	}{
		{[]string{"If-Match", tag}, 200},
		{[]string{"If-Match", "*"}, 200},
		{[]string{"If-Match", `"a,b", ` + tag + ` ,"c"`}, 200},
		{[]string{"If-Match", `"other"`}, 412},
		{[]string{"If-Match", "W/" + tag}, 412}, // by the strong comparison
		{[]string{"If-Match", strings.ReplaceAll(`"x,TAG"`, "TAG", strings.Trim(tag, `"`))}, 412},
		{[]string{"If-None-Match", tag}, 304},
		{[]string{"If-None-Match", "W/" + tag}, 304}, // by the weak one
		{[]string{"If-None-Match", `"a", W/"b",` + tag}, 304},
		{[]string{"If-None-Match", "*"}, 304},
		{[]string{"If-None-Match", `"other"`}, 200},
		{[]string{"If-None-Match", `"a` + "," + `"`}, 200},
		{[]string{"If-Match", tag, "If-None-Match", `"other"`}, 200},
		{[]string{"If-Match", `"other"`, "If-None-Match", tag}, 412}, // If-Match goes first
		{[]string{"If-Match", tag, "Range", "bytes=2-3"}, 206},
		{[]string{"If-Match", `"other"`, "Range", "bytes=2-3"}, 412},
		{[]string{"If-Match", `"other"`, "Range", "bytes=20-30"}, 412},
		{[]string{"If-Match", tag, "Range", "bytes=20-30"}, 416},
		{[]string{"If-None-Match", tag, "Range", "bytes=2-3"}, 304},
		{[]string{"If-Range", "W/" + tag, "Range", "bytes=2-3"}, 200},
		{[]string{"If-Match", "other"}, 400},
		{[]string{"If-Match", `"open`}, 400},
		{[]string{"If-Match", `*, "a"`}, 400},
		{[]string{"If-None-Match", `"a" "b"`}, 400},
		{[]string{"If-None-Match", ""}, 400},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			want := c.status
			if method == "HEAD" && (want == 206 || want == 416) {
				want = 200 // ranges are of GET
			}
			res, body := b.do(t, method, "/v1/objects/c", "", c.headers...)
			if res.StatusCode != want {
				t.Errorf("%s with %q: %d %s, want %d", method, c.headers, res.StatusCode, body, want)
			}
			if (want == 200 || want == 304) != (res.Header.Get("ETag") == tag) && want != 206 {
				t.Errorf("%s with %q: the ETag is %q", method, c.headers, res.Header.Get("ETag"))
			}
		}
	}
	res, body := b.do(t, "GET", "/v1/objects/c", "", "If-Match", `"other"`)
	wantError(t, res, body, 412, phalanx.ErrInvalid, strings.ReplaceAll(tag, `"`, `\"`))
	res, body = b.do(t, "GET", "/v1/objects/nowhere", "", "If-Match", "*")
	wantError(t, res, body, 404, phalanx.ErrNotFound, "nobody has announced it")

	// To answer that the caller has the object no byte of it is fetched.
	b.node.Remote("far", 10)
	far := `"` + b.stat(t, "far").Digest + `"`
	for header, status := range map[string]int{"If-None-Match": 304, "If-Match": 412} {
		tag := far
		if status == 412 {
			tag = `"other"`
		}
		if res, body := b.do(t, "GET", "/v1/objects/far", "", header, tag); res.StatusCode != status || status == 304 && res.Header.Get("ETag") != far {
			t.Errorf("%s: %d %s", header, res.StatusCode, body)
		}
	}
	if b.node.Opened("far") {
		t.Error("it was opened")
	}

	// Of several header lines each counts.
	r, err := http.NewRequest("GET", b.server.URL+"/v1/objects/c", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header["If-Match"] = []string{`"other"`, tag}
	if res, err = b.http.Do(r); err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != 200 {
		t.Errorf("two lines: %d", res.StatusCode)
	}
}

// If-None-Match: * makes a PUT create an object or do nothing.
func TestPutOnlyWhatIsNew(t *testing.T) {
	b := newBed(t, httpapi.Options{})
	for i, c := range []struct {
		body   string
		status int
	}{{"first", 201}, {"first", 412}, {"other", 412}} {
		res, body := b.do(t, "PUT", "/v1/objects/new", c.body, "If-None-Match", "*")
		if res.StatusCode != c.status {
			t.Errorf("%d: %d %s, want %d", i, res.StatusCode, body, c.status)
		}
		if c.status == 412 {
			wantError(t, res, body, 412, phalanx.ErrExists, `"object":"new"`)
		}
	}
	if got := string(b.node.Bytes("new")); got != "first" {
		t.Errorf("it is %q", got)
	}
	// Another upload of the same bytes is under way: one of them creates the object.
	feed := b.upload(t, "race", "0123456789")
	answer := make(chan int, 1)
	go func() {
		res, _ := b.do(t, "PUT", "/v1/objects/race", "0123456789abcdefghijabcdefghij", "If-None-Match", "*")
		answer <- res.StatusCode
	}()
	write(t, feed, "abcdefghijabcdefghij")
	_ = feed.Close()
	if got := <-answer; got != 412 {
		t.Errorf("beside another upload: %d", got)
	}
	for _, c := range [][3]string{{"PUT", "If-Match", "*"}, {"PUT", "If-None-Match", `"tag"`}, {"DELETE", "If-Match", `"tag"`}, {"DELETE", "If-None-Match", "*"}} {
		res, body := b.do(t, c[0], "/v1/objects/new", "first", c[1], c[2])
		wantError(t, res, body, 400, phalanx.ErrInvalid, c[1])
	}
	if b.node.Bytes("new") == nil {
		t.Error("a DELETE whose condition is not understood has deleted it")
	}
}
