package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

// A node without memory for a large object takes small ones. What its pinned objects
// leave no room for is refused at once; an upload that waits is shown by the status, and
// is forgotten within a few seconds once its client has gone away in the midst of it.
func TestAFullNodeTakesWhatFits(t *testing.T) {
	const large = 20 << 20
	var at []ready
	for i := range 2 {
		args := nodeArgs(fmt.Sprint("n", i), "32MB")
		if i > 0 {
			args = append(args, "--seeds="+at[0].Control)
		}
		var r ready
		start(t, args...).line(t, &r)
		at = append(at, r)
	}
	there, here := client(t, at[0].HTTP), client(t, at[1].HTTP)
	data := random(large)
	put := func(c *httpapi.Client, id phalanx.ObjectID, data []byte, o httpapi.PutOptions) error {
		_, err := c.Put(t.Context(), id, bytes.NewReader(data), int64(len(data)), o)
		return err
	}
	small := func(id phalanx.ObjectID) {
		t.Helper()
		began := time.Now()
		if err := put(here, id, []byte("hello world"), httpapi.PutOptions{}); err != nil {
			t.Errorf("11 bytes: %v", err)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("11 bytes took %v", took)
		}
	}
	if err := put(there, "far", data, httpapi.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	err := put(there, "more", data, httpapi.PutOptions{MemoryWait: time.Hour})
	for _, says := range []string{"more", fmt.Sprint(large, " bytes are needed"), fmt.Sprint("of ", 32<<20), "are pinned", "delete objects", "--memory"} {
		if !errors.Is(err, phalanx.ErrNoSpace) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v does not say %q", err, says)
		}
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}

	if err := put(here, "near", data, httpapi.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	if status, e := failed(t, at[1].HTTP+"/v1/objects/far"); status != 507 || e.Kind != "no space" || !strings.Contains(e.Message, "are pinned") {
		t.Errorf("GET: %d %+v", status, e)
	}
	must(t, (&bed{}).run(t, "", "rm", "near", "--addr", at[1].HTTP), "deleted")

	// A client that reads nothing keeps what this node has got of the object.
	reader := dial(t, at[1].HTTP)
	defer reader.Close()
	fmt.Fprint(reader, "GET /v1/objects/far HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if _, err := io.ReadFull(reader, make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	waiting := func(c *httpapi.Client) int {
		s, err := c.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s.Memory.Waiting
	}
	until := func(what string, most time.Duration, ok func() bool) {
		t.Helper()
		for began := time.Now(); !ok(); {
			if time.Since(began) > most {
				t.Fatalf("not %s after %v", what, most)
			}
		}
	}
	upload := dial(t, at[1].HTTP)
	fmt.Fprintf(upload, "PUT /v1/objects/mine?memory-wait=1h HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", large)
	if err := upload.SetWriteDeadline(time.Now().Add(300 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := upload.Write(data); err == nil {
		t.Fatal("all of it was taken")
	}
	until("waiting", 10*time.Second, func() bool { return waiting(here) == 1 })
	must(t, (&bed{}).run(t, "", "status", "--addr", at[1].HTTP), "waiting    1 for 20.0 MB of memory")
	if text := string(fetch(t, at[1].HTTP+"/metrics")); !strings.Contains(text, "phalanx_memory_waiting 1\n") || !strings.Contains(text, fmt.Sprintf("phalanx_memory_waiting_bytes %v\n", float64(large))) {
		t.Error("the metrics do not tell of it")
	}
	small("small/1")
	_ = upload.Close()
	until("forgotten", 6*time.Second, func() bool { return waiting(here) == 0 })
	small("small/2")

	file := filepath.Join(t.TempDir(), "mine")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	began = time.Now()
	must(t, (&bed{}).run(t, "", "put", file, "mine", "--memory-wait=300ms", "--addr", at[1].HTTP), "within 300ms", "wait longer (--memory-wait)", "exit 7\n")
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	mine := make(chan error, 1)
	go func() { mine <- put(here, "mine", data, httpapi.PutOptions{MemoryWait: time.Minute}) }()
	until("waiting", 10*time.Second, func() bool { return waiting(here) == 1 })
	_ = reader.Close()
	if err := <-mine; err != nil {
		t.Errorf("after the reader has gone: %v", err)
	}
}

func dial(t *testing.T, url string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	return conn
}
