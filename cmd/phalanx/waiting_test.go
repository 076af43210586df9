package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
	"github.com/phalanx-go/phalanx/internal/httpapi/fakenode"
	"github.com/phalanx-go/phalanx/storenode"
)

// waitingNode has a Put wait until room is closed.
type waitingNode struct {
	httpapi.Node
	room chan bool
}

func (w waitingNode) Put(ctx context.Context, id phalanx.ObjectID, r io.Reader, meta phalanx.Meta, how httpapi.Putting) (storenode.Info, bool, error) {
	<-w.room
	return w.Node.Put(ctx, id, r, meta, how)
}

// screen is a terminal. It calls seen once it shows text.
type screen struct {
	mu   sync.Mutex
	all  bytes.Buffer
	text string
	seen func()
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all.Write(p)
	if s.seen != nil && strings.Contains(s.all.String(), s.text) {
		s.seen()
		s.seen = nil
	}
	return len(p), nil
}

// On a terminal a put says that the node waits for memory, and that it goes on.
func TestPutShowsThatItWaits(t *testing.T) {
	w := waitingNode{fakenode.New(), make(chan bool)}
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, make([]byte, 40<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	shows := &screen{text: "the node waits for memory", seen: func() { close(w.room) }}
	a := (&bed{}).app("", io.Discard, shows)
	a.terminal = true
	if code := a.run(t.Context(), []string{"put", file, "x", "--addr", overHTTP(t, w).URL}); code != 0 {
		t.Fatalf("exit %d: %s", code, &shows.all)
	}
	_, after, found := strings.Cut(shows.all.String(), shows.text)
	last := after[strings.LastIndex(after, "put x"):]
	if !found || strings.Contains(last, shows.text) || !strings.Contains(last, "100%") {
		t.Errorf("it shows %q in the end", last)
	}
}
