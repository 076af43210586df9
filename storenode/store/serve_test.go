package store

import (
	"errors"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// A fetch of this node waits until the object is made again. A receiver that asks for the
// generation before it, which was given up, is not kept waiting for as long.
func TestASenderIsNotExpectedForEver(t *testing.T) {
	env := alone(t)
	env.active.fetches = map[phalanx.ObjectID]*arrival{"o": {object: "o"}}
	stream := streamTo(t, env, dataplane.Request{Kind: dataplane.Object, Object: "o", Generation: first})
	told := make(chan error, 1)
	go func() {
		_, err := stream.Read(make([]byte, 1))
		told <- err
	}()
	select {
	case err := <-told:
		var end *dataplane.Ended
		if !errors.As(err, &end) || end.Reason != dataplane.Gone {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("it still waits")
	}
}

// streamTo has another node open a stream from env.
func streamTo(t *testing.T, env *Env, req dataplane.Request) *dataplane.Stream {
	t.Helper()
	config := func(self phalanx.NodeID) dataplane.Config {
		return dataplane.Config{Self: self, Logger: env.Log, Lookup: func(phalanx.NodeID) (string, bool) { return env.Conns.Addr().String(), true }}
	}
	start := func(c dataplane.Config) *dataplane.Conns {
		conns, err := dataplane.New(c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conns.Close() })
		return conns
	}
	sender := config(env.Self)
	sender.OnStream = env.Serve
	env.Conns = start(sender)
	stream, err := start(config("receiver#1")).Open(t.Context(), env.Self, req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stream.Close)
	return stream
}

// serve counts one more receiver of c, which may be dropped.
func (t *Table) serve(c *objectCopy, fanout int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	served := t.core.Serve(&c.Copy, fanout)
	if served && c.buffer != nil {
		c.buffer.Retain()
	}
	return served
}
