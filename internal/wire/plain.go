//go:build !linux || race

package wire

// The race detector knows how bytes order goroutines only from the calls that the
// scheduler is told of.

import "net"

// Quick returns c.
func Quick(c net.Conn) net.Conn { return c }

// Write writes head and then body to c.
func Write(c net.Conn, head, body []byte) error {
	_, err := (&net.Buffers{head, body}).WriteTo(c)
	return err
}
