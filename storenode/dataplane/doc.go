// Package dataplane moves the bytes of objects and the control payloads that
// travel with them; it decides nothing. A Budget caps a node's memory, a Pool
// hands out touched memory from it, a Buffer holds the bytes of one generation
// of one object with their checks, and Conns moves them over TCP.
//
// Bytes go from the socket into the Buffer and from the Buffer into the next socket as they arrive:
// forwarding never waits for a piece. Every receiver checks every piece against the checks of the
// bytes' origin, and Watermark counts only checked bytes. A transfer allocates nothing per piece.
//
// A peer that breaks the protocol loses its connection and nothing else; the
// error names it. All types are safe for concurrent use, except that a Buffer
// has one writer and a Stream or Writer one user at a time.
package dataplane
