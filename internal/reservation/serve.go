package reservation

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/phalanx-go/phalanx/workflow"
)

// request is what the store is asked.
type request struct {
	Key   string
	Trip  Trip
	Txn   int
	Row   string
	Fence workflow.Fence
	Seats []Seat
}

// done is the answer where there is nothing else to say.
type done struct{}

// Handler serves a store over HTTP.
func Handler(s *Store) http.Handler {
	m := http.NewServeMux()
	on(m, "begin", func(_ context.Context, q request) (txn, error) { return s.begin(q.Key, q.Trip) })
	on(m, "lock", func(ctx context.Context, q request) (locked, error) { return s.lock(ctx, q.Txn, q.Row, q.Fence) })
	on(m, "unlock", func(_ context.Context, q request) (done, error) { return done{}, s.unlock(q.Txn, q.Row, q.Fence) })
	on(m, "finish", func(_ context.Context, q request) (Booking, error) { return s.finish(q.Txn, q.Seats) })
	on(m, "look", func(context.Context, request) (Books, error) { return s.Look(), nil })
	return m
}

func on[R any](m *http.ServeMux, what string, f func(context.Context, request) (R, error)) {
	m.HandleFunc("POST /"+what, func(w http.ResponseWriter, r *http.Request) {
		var q request
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		a, err := f(r.Context(), q)
		if err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		_ = json.NewEncoder(w).Encode(a) // fails if the caller is gone, which asks again
	})
}

// Client asks the store.
type Client struct {
	Address string // host:port, or the path of a Unix socket
}

// overSocket connects to the path of a Unix socket, which stands in place of the host.
var overSocket = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
	path, err := hex.DecodeString(strings.TrimSuffix(address, ":80"))
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	return d.DialContext(ctx, "unix", string(path))
}}}

// way returns how to reach the store.
func (c Client) way() (by *http.Client, host string) {
	if strings.HasPrefix(c.Address, "/") {
		return overSocket, hex.EncodeToString([]byte(c.Address))
	}
	return http.DefaultClient, c.Address
}

func (c Client) begin(ctx context.Context, key string, t Trip) (txn, error) {
	return ask[txn](ctx, c, "begin", request{Key: key, Trip: t})
}

func (c Client) lock(ctx context.Context, id int, row string, fence workflow.Fence) (locked, error) {
	return ask[locked](ctx, c, "lock", request{Txn: id, Row: row, Fence: fence})
}

func (c Client) unlock(ctx context.Context, id int, row string, fence workflow.Fence) (done, error) {
	return ask[done](ctx, c, "unlock", request{Txn: id, Row: row, Fence: fence})
}

func (c Client) finish(ctx context.Context, id int, seats []Seat) (Booking, error) {
	return ask[Booking](ctx, c, "finish", request{Txn: id, Seats: seats})
}

// Look returns what the store has.
func (c Client) Look(ctx context.Context) (Books, error) {
	return ask[Books](ctx, c, "look", request{})
}

// askWait bounds a question to the store.
const askWait = 20 * time.Second

func ask[R any](ctx context.Context, c Client, what string, q request) (r R, err error) {
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	b, err := json.Marshal(q)
	if err != nil {
		return r, err
	}
	by, host := c.way()
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+host+"/"+what, bytes.NewReader(b))
	if err != nil {
		return r, err
	}
	answer, err := by.Do(post)
	if err != nil {
		return r, err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1000))
		return r, fmt.Errorf("the store refuses to %s: %s", what, bytes.TrimSpace(text))
	}
	return r, json.NewDecoder(answer.Body).Decode(&r)
}
