package cluster

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
)

// A node on loopback is told at once that a seed elsewhere cannot answer it.
func TestSeedsElsewhereNeedAnAddress(t *testing.T) {
	for what, c := range map[string]struct {
		cfg  Config
		want string
	}{
		"an address":            {Config{Seeds: []string{"192.0.2.1:7421"}}, "Bind: this node listens on 127.0.0.1, where the seed 192.0.2.1:7421 cannot reach it: give Bind (--bind)"},
		"beside one here":       {Config{Seeds: []string{"127.0.0.1:1", "192.0.2.1:7421"}}, "the seed 192.0.2.1:7421"},
		"advertises loopback":   {Config{Bind: "0.0.0.0", Insecure: true, Advertise: "localhost", Seeds: []string{"[2001:db8::1]:7421"}}, "Advertise: this node listens on localhost"},
		"all are here":          {Config{Seeds: []string{"127.0.0.1:1", "localhost:2", "[::1]:3"}}, ""},
		"a name":                {Config{Seeds: []string{"a:7421"}}, ""}, // Join resolves it
		"listens elsewhere too": {Config{Bind: "0.0.0.0", Insecure: true, Seeds: []string{"192.0.2.1:7421"}}, ""},
	} {
		check(t, what, c.cfg.Validate(), c.want)
	}
	found := func(string) []string { return []string{"192.0.2.1"} }
	check(t, "a name elsewhere", Config{Seeds: []string{"a:7421"}}.withDefaults().unreachable(found), "where the seed a:7421 cannot reach it")
	found = func(string) []string { return []string{"127.0.1.1"} }
	check(t, "a name of this machine", Config{Seeds: []string{"a:7421"}}.withDefaults().unreachable(found), "")
	if found := lookUp(t.Context())("localhost"); len(found) == 0 {
		t.Error("localhost has no address")
	}
	if _, err := Join(t.Context(), Config{Seeds: []string{"192.0.2.1:7421"}}); !errors.Is(err, phalanx.ErrInvalid) {
		t.Errorf("Join: %v", err)
	}
}

func check(t *testing.T, what string, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && (!errors.Is(err, phalanx.ErrInvalid) || !strings.Contains(err.Error(), want)) {
		t.Errorf("%s: %v, want %q", what, err, want)
	}
}

// The resolver of names does not answer. Join waits for it once, and not for each seed again.
func TestNamesOfSeedsAreResolvedInOneTime(t *testing.T) {
	var mu sync.Mutex
	asked := map[time.Time]bool{}
	was := net.DefaultResolver
	defer func() { net.DefaultResolver = was }()
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		until, _ := ctx.Deadline()
		mu.Lock()
		asked[until] = true
		mu.Unlock()
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := (Config{Seeds: []string{"a.example:1", "b.example:1", "c.example:1"}}).withDefaults().reachable(ctx); err != nil {
		t.Error(err)
	}
	if len(asked) != 1 {
		t.Errorf("the resolver was asked with %d deadlines, want 1", len(asked))
	}
}
