// Package wire makes reading from and writing to TCP connections cheaper on Linux:
// the Go scheduler is not told of the system calls. They never block, since the
// sockets say so, and waiting is left to the runtime's poller. To tell would wake
// the runtime's monitor for each burst of calls, which costs a process that is
// mostly idle as much as the calls themselves.
package wire
