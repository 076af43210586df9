package httpapi

import (
	"io"
	"net/http"
	"time"
)

// The server takes at most so much of a body after the answer.
const (
	restBytes = 256 << 20
	restTime  = 10 * time.Second
)

// takesRest takes the bytes that a client still sends after its answer, for a while: many clients
// read nothing before they have sent everything, and would see a broken connection in place of the
// reason for the refusal. The answer is sent first, for clients that read meanwhile. A client that
// asks with Expect does, and may send no body at all.
func takesRest(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn := http.NewResponseController(w)
		if r.ProtoMajor != 1 || r.ContentLength == 0 || r.Header.Get("Expect") != "" || conn.EnableFullDuplex() != nil {
			next.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
		if conn.Flush() != nil || conn.SetReadDeadline(time.Now().Add(restTime)) != nil {
			return
		}
		_, _ = io.CopyN(io.Discard, r.Body, restBytes) // if it does not end, or fails, net/http closes the connection
		_ = conn.SetReadDeadline(time.Time{})
	})
}
