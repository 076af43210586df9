package httpapi

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/phalanx-go/phalanx"
)

// advise returns err with advice, if it is of kind k.
func advise(err error, k phalanx.Kind, what string) error {
	var e *phalanx.Error
	if !errors.As(err, &e) || e.Kind != k || e.Err == nil {
		return err
	}
	out := *e
	out.Err = fmt.Errorf("%w: %s", e.Err, what)
	return &out
}

// The advice for an object that exists, or does not.
const (
	ifExists  = "objects do not change: put it under another id, or delete this one first"
	ifMissing = "put it, or wait for it with --wait (wait= over HTTP)"
	ifNoRun   = "a program starts runs with package workflow; phalanx workflow ls lists them (GET /v1/workflows)"
	ifEnded   = "phalanx workflow status says how it has (GET /v1/workflows/{id})"
	ifForgot  = "20 minutes after that its id can be used again"
	ifNotYet  = "wait again, or longer with --timeout (timeout= over HTTP)"
)

// insecureRequest is the answer of net/http to a request without TLS.
const insecureRequest = "sent an HTTP request to an HTTPS server"

// remedy returns advice on err, with which a connection to c's node broke; "": there is none.
// Where net/http has no type for an error, its text has to do.
func (c *Client) remedy(err error) string {
	var authority x509.UnknownAuthorityError
	text := err.Error()
	switch {
	case errors.As(err, &authority):
		return "give the authority of its certificate with --tls-ca"
	case strings.Contains(text, "certificate required"):
		return "the node asks for a certificate: give one with --tls-cert and --tls-key"
	case strings.Contains(text, "HTTP response to HTTPS client"):
		return "the node has no TLS: give --addr as " + c.otherScheme()
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return "if that happens each time, this is not the port of --http, which is 7420 by default"
	}
	return ""
}

// otherScheme returns the node's URL with https in place of http, or the other way round.
func (c *Client) otherScheme() string {
	u := *c.base
	if u.Scheme = "https"; c.base.Scheme == "https" {
		u.Scheme = "http"
	}
	return u.String()
}
