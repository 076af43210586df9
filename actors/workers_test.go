package actors_test

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/actors"
)

// Work that comes at once is done at once, whoever waits; of those who did it only
// a few stay, and none after Close.
func TestWorkers(t *testing.T) {
	before := runtime.NumGoroutine()
	few := func(what string, most int) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before+most; {
			if time.Now().After(deadline) {
				t.Fatalf("%s there are %d goroutines more", what, runtime.NumGoroutine()-before)
			}
			runtime.Gosched()
		}
	}
	w := actors.NewWorkers()
	for range 2 {
		var running, done sync.WaitGroup
		running.Add(100)
		done.Add(100)
		for range 100 {
			w.Schedule(func() {
				running.Done()
				running.Wait() // for all others
				done.Done()
			})
		}
		done.Wait()
		few("after the work", 16)
	}
	w.Close()
	few("at the end", 0)
	ran := make(chan struct{})
	w.Schedule(func() { close(ran) }) // an actor that ends later than its node's workers
	<-ran
	few("after that", 0)
}
