package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
	"github.com/phalanx-go/phalanx/internal/httpapi/fakenode"
)

// device returns the path of a file that Linux has, or skips the test.
func device(t *testing.T, path string) string {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		t.Skip(err)
	}
	return path
}

// The files of /proc say that they have no bytes.
func TestPutOfAFileThatSaysItIsEmpty(t *testing.T) {
	b := newBed(t)
	want, err := os.ReadFile(device(t, "/proc/version"))
	if err != nil {
		t.Fatal(err)
	}
	must(t, b.run(t, "", "put", "/proc/version", "v"), fmt.Sprintf("v: %d B", len(want)))
	if got := b.node.Bytes("v"); !bytes.Equal(got, want) {
		t.Errorf("put %q, want %q", got, want)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, b.run(t, "", "put", empty, "e"), "e: 0 B")
}

// The files of /sys say that they have a page of bytes.
func TestPutOfAFileThatSaysItIsLonger(t *testing.T) {
	b := newBed(t)
	online := device(t, "/sys/devices/system/cpu/online")
	data, err := os.ReadFile(online)
	if st, bad := os.Stat(online); err != nil || bad != nil || st.Size() <= int64(len(data)) {
		t.Skip("its length is right here")
	}
	got := b.run(t, "", "put", online, "v")
	must(t, got, `put "v": invalid: its source failed: /sys/devices/system/cpu/online ended after`, "bytes", "exit 2\n")
	if b.node.Bytes("v") != nil {
		t.Error("it was put")
	}
}

// A file that changes its length while it is put becomes no object. It is longer than what
// waits between the program and the node, which changes it before it reads.
func TestPutOfAFileThatChanges(t *testing.T) {
	const size = 32 << 20
	for _, c := range []struct {
		becomes int64
		says    string
	}{
		{size - 1, fmt.Sprintf("ended after %d of %d bytes", size-1, size)},
		{size + 1, fmt.Sprintf("has more than the %d bytes that it had at first", size)},
	} {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(file, size); err != nil {
			t.Fatal(err)
		}
		log := logrus.New()
		log.SetOutput(io.Discard)
		b := &bed{node: fakenode.New()}
		handler := httpapi.New(b.node, httpapi.Options{Logger: log}).Handler()
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := os.Truncate(file, c.becomes); err != nil {
				t.Error(err)
			}
			handler.ServeHTTP(w, r)
		}))
		b.addr = server.URL
		must(t, b.run(t, "", "put", file, "v", "--addr", server.URL), `put "v": invalid: its source failed: `+file, c.says, "exit 2\n")
		server.Close() // waits for the node's side
		if b.node.Bytes("v") != nil {
			t.Errorf("%d bytes: a part of the file was put", c.becomes)
		}
	}
}

func TestInputOfFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	data := random(100_000)
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := openInput(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if got, err := io.ReadAll(in); err != nil || !bytes.Equal(got, data) || in.size != int64(len(data)) {
		t.Errorf("%d bytes of %d, %v", len(got), in.size, err)
	}
	closed, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	in, err = openInput("-", closed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(in); !errors.Is(err, phalanx.ErrInvalid) || !strings.Contains(err.Error(), "standard input cannot be read") {
		t.Errorf("a standard input that is closed: %v", err)
	}
}

// A file that cannot be written is neither a mistake of the program nor the store's cap.
func TestFilesThatCannotBeWritten(t *testing.T) {
	b := newBed(t)
	b.run(t, "0123456789", "put", "-", "a")
	full := device(t, "/dev/full")
	t.Chdir(t.TempDir())
	if err := os.WriteFile("plain", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ file, says string }{
		{full, "/dev/full cannot be written: there is no space on its disk"},
		{"not/there", "not/there cannot be written: the directory not does not exist"},
		{"plain/f", "plain/f cannot be written: not a directory"},
		{".", ". cannot be written: is a directory"},
	} {
		must(t, b.run(t, "", "get", "a", c.file), "get: invalid: "+c.says, "exit 2\n")
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) != 1 {
		t.Errorf("it left %v, %v", entries, err)
	}
}

// Standard output can be full, or a pipe that nobody reads.
func TestStandardOutputThatCannotBeWritten(t *testing.T) {
	b := newBed(t)
	b.run(t, "0123456789", "put", "-", "a")
	full, err := os.OpenFile(device(t, "/dev/full"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	r, gone, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer gone.Close()
	_ = r.Close()
	for _, c := range []struct {
		out  *os.File
		says string
		exit int
	}{
		{full, "invalid: standard output cannot be written: there is no space on its disk", 2},
		{gone, "canceled: standard output cannot be written: no process reads it any more", 130},
	} {
		for _, args := range [][]string{{"get", "a", "-"}, {"ls"}, {"stat", "a", "-o", "json"}, {"status"}} {
			var errs bytes.Buffer
			if code := b.app("", c.out, &errs).run(t.Context(), args); code != c.exit || !says(errs.String(), c.says) {
				t.Errorf("%v: exit %d, %s", args, code, &errs)
			}
		}
	}
}

// says reports whether a message has the kind and the text of "kind: text", also as JSON.
func says(message, want string) bool {
	kind, text, _ := strings.Cut(want, ": ")
	return strings.Contains(message, kind) && strings.Contains(message, text)
}
