package remoting

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"google.golang.org/grpc/credentials"
)

var (
	errBroke  = errors.New("the connection broke")
	errClosed = errors.New("the peer closed the connection")
)

// broke says why a connection broke that had been used, without gRPC's words.
func broke(err error) error {
	if errors.Is(err, io.EOF) {
		return errClosed
	}
	_, why, read := strings.Cut(err.Error(), "error reading from server: ") // gRPC has no types for these
	if !read || why == "EOF" {
		return errBroke
	}
	return fmt.Errorf("%w: %s", errBroke, why)
}

// stranger says that the other end has not answered as a node does. err is gRPC's reason, of
// which only the text can be read.
func (p *peer) stranger(err error) error {
	text := err.Error()
	_, alert, refused := strings.Cut(text, "remote error: tls: ")
	switch {
	case refused:
		return fmt.Errorf("the node does not accept this node's certificate (%s): give both nodes certificates of one authority (--tls-cert, --tls-key, --tls-ca)", strings.Trim(alert, `"`))
	case strings.Contains(text, "looked like an HTTP/1.1 header"), strings.Contains(text, "unexpected HTTP status code"):
		return errors.New("the port serves HTTP: give the control port of a node")
	case p.r.cfg.Client == nil:
		return errors.New("the process that listens there has not answered as the control port of a node does; if that node has TLS, give this one TLS too (--tls-cert, --tls-key, --tls-ca)")
	}
	return errors.New("the process that listens there has not answered as the control port of a node does, or does not accept this node's certificate (--tls-cert, --tls-ca)")
}

// noting are a client's credentials that note how the handshake ended, which without TLS succeeds.
type noting struct {
	credentials.TransportCredentials
	p *peer
}

func (n noting) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secure, info, err := n.TransportCredentials.ClientHandshake(ctx, authority, raw)
	n.p.mu.Lock()
	n.p.dialled = handshakeError(err)
	n.p.mu.Unlock()
	return secure, info, err
}

func (n noting) Clone() credentials.TransportCredentials {
	return noting{n.TransportCredentials.Clone(), n.p}
}

// handshakeError returns err with advice, or nil.
func handshakeError(err error) error {
	var authority x509.UnknownAuthorityError
	var plain tls.RecordHeaderError
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("the process that listens there closed the connection in the TLS handshake: give the control port of a node")
	case errors.As(err, &authority):
		return fmt.Errorf("%w: give the authority of that node's certificate (--tls-ca)", err)
	case errors.As(err, &plain):
		return errors.New("the process that listens there has no TLS, and this node has: give all nodes TLS, or none")
	}
	return err
}
