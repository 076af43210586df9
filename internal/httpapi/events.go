package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// events sends the node's events as server-sent events, until the caller or the server
// goes. It has no deadline; a comment now and then shows that it lives.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r, "events"); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	events := s.node.Events(ctx)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	conn := http.NewResponseController(w)
	defer func() { _ = conn.SetWriteDeadline(time.Time{}) }()
	send := func(format string, args ...any) bool {
		_ = conn.SetWriteDeadline(time.Now().Add(s.opts.Stall))
		_, err := fmt.Fprintf(w, format, args...)
		return err == nil && conn.Flush() == nil
	}
	beat := time.NewTicker(s.opts.Heartbeat)
	defer beat.Stop()
	for ok := send(": %s\n\n", s.node.ID()); ok; {
		select {
		case <-ctx.Done():
			return nil
		case <-s.closing:
			return nil
		case <-beat.C:
			ok = send(": heartbeat\n\n")
		case e, open := <-events:
			if !open {
				return nil
			}
			data, err := json.Marshal(e)
			if err != nil { // an event is a plain struct
				s.opts.Logger.WithError(err).Error("an event cannot be told")
				continue
			}
			ok = send("event: %s\ndata: %s\n\n", e.Kind(), data)
		}
	}
	return nil
}
