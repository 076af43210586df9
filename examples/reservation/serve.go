package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/phalanx-go/phalanx/internal/children"
	"github.com/phalanx-go/phalanx/workflow"
)

// storeVar makes the program the store's process, with these seats of each row.
const storeVar = "PHALANX_RESERVATION_STORE"

// setting of the store's process.
type setting struct{ Each, Seats int }

// listening is what the store's process says.
type listening struct{ Address string }

// request is what the store is asked.
type request struct {
	Key   string
	Trip  trip
	Txn   int
	Row   string
	Fence workflow.Fence
	Seats []seat
}

// done is the answer where there is nothing else to say.
type done struct{}

// beStore is the store's process, until its parent ends.
func beStore(as string) error {
	var set setting
	if err := json.Unmarshal([]byte(as), &set); err != nil {
		return err
	}
	ctx, end := children.Lifetime(0)
	defer end()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: serve(newStore(allRows(set.Each), set.Seats)), ReadHeaderTimeout: time.Minute}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	children.Say(listening{l.Addr().String()})
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func serve(s *store) http.Handler {
	m := http.NewServeMux()
	on(m, "begin", func(_ context.Context, q request) (txn, error) { return s.begin(q.Key, q.Trip) })
	on(m, "lock", func(ctx context.Context, q request) (locked, error) { return s.lock(ctx, q.Txn, q.Row, q.Fence) })
	on(m, "unlock", func(_ context.Context, q request) (done, error) { return done{}, s.unlock(q.Txn, q.Row, q.Fence) })
	on(m, "finish", func(_ context.Context, q request) (booking, error) { return s.finish(q.Txn, q.Seats) })
	on(m, "look", func(context.Context, request) (books, error) { return s.look(), nil })
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

// client asks the store.
type client struct{ Address string }

func (c client) begin(ctx context.Context, key string, t trip) (txn, error) {
	return ask[txn](ctx, c, "begin", request{Key: key, Trip: t})
}

func (c client) lock(ctx context.Context, id int, row string, fence workflow.Fence) (locked, error) {
	return ask[locked](ctx, c, "lock", request{Txn: id, Row: row, Fence: fence})
}

func (c client) unlock(ctx context.Context, id int, row string, fence workflow.Fence) (done, error) {
	return ask[done](ctx, c, "unlock", request{Txn: id, Row: row, Fence: fence})
}

func (c client) finish(ctx context.Context, id int, seats []seat) (booking, error) {
	return ask[booking](ctx, c, "finish", request{Txn: id, Seats: seats})
}

func (c client) look(ctx context.Context) (books, error) {
	return ask[books](ctx, c, "look", request{})
}

// askWait bounds a question to the store.
const askWait = 20 * time.Second

func ask[R any](ctx context.Context, c client, what string, q request) (r R, err error) {
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	b, err := json.Marshal(q)
	if err != nil {
		return r, err
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+c.Address+"/"+what, bytes.NewReader(b))
	if err != nil {
		return r, err
	}
	answer, err := http.DefaultClient.Do(post)
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

func isStore() bool { return os.Getenv(storeVar) != "" }
