package wire

import "net"

// Writer writes in two parts. The zero value is ready; it is not for concurrent
// use, and allocates once.
type Writer struct {
	vec  [2][]byte
	left net.Buffers
}

// plain writes head and then body as package net does it.
func (w *Writer) plain(c net.Conn, head, body []byte) error {
	w.vec = [2][]byte{head, body}
	w.left = w.vec[:]
	_, err := w.left.WriteTo(c)
	w.vec = [2][]byte{}
	return err
}
