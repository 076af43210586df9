// Command phalanx runs nodes of a cluster (node, dev, demo) and works with its
// objects: the commands about objects, and status and events, talk to a node over
// HTTP (docs/http.md).
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(run(interrupted(), os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)) }

// interrupted returns a context that ends with the first SIGINT or SIGTERM. A second signal ends
// the process at once, with the code that a shell gives a process that the signal has killed. The
// system would not do that where SIGINT is ignored, as in a process that a script has started in
// the background.
func interrupted() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		s, _ := (<-signals).(syscall.Signal)
		os.Exit(128 + int(s))
	}()
	return ctx
}
