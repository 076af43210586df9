package httpapi

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"
)

// slowConn is a connection without bytes, on which a read begins as the handler ends.
type slowConn struct {
	http.ResponseWriter
	begun   func()        // as the read sets its deadline
	expired chan struct{} // a deadline that has passed is set
	last    time.Time
}

func (c *slowConn) SetReadDeadline(t time.Time) error {
	if t.After(time.Now()) {
		c.begun()
		select { // the handler may be faster than the read
		case <-c.expired:
		case <-time.After(20 * time.Millisecond):
		}
	}
	if c.last = t; t.Before(time.Now()) {
		close(c.expired)
	}
	return nil
}

// Read waits for the deadline: it fails at once where it would wait for an hour.
func (c *slowConn) Read([]byte) (int, error) {
	<-c.expired
	if c.last.After(time.Now()) {
		return 0, errors.New("the read waits for a whole stall")
	}
	return 0, os.ErrDeadlineExceeded
}

// The end of a PUT ends a read of its body that is about to set its deadline.
func TestTheEndOfAPutEndsARead(t *testing.T) {
	c := &slowConn{ResponseWriter: httptest.NewRecorder(), expired: make(chan struct{})}
	u := &upload{body: c, conn: http.NewResponseController(c), stall: time.Hour, waits: &waits{over: true}}
	stopped := make(chan error, 1)
	c.begun = func() { go func() { stopped <- u.stop() }() }
	if _, err := u.Read(make([]byte, 1)); err != io.ErrClosedPipe {
		t.Errorf("the read ends with %v", err)
	}
	if err := <-stopped; err != nil {
		t.Errorf("the upload has failed: %v", err)
	}
	if _, err := u.Read(make([]byte, 1)); err != io.ErrClosedPipe {
		t.Errorf("a later read ends with %v", err)
	}
}
