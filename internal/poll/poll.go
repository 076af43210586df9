// Package poll has a test wait for what other goroutines, nodes or processes do, where no channel
// tells it.
package poll

import (
	"testing"
	"time"
)

// patience is how long a test waits at most.
const patience = time.Minute

// Until waits until a condition holds. The test fails if it does not hold within a minute.
func Until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	if !Holds(condition) {
		t.Fatalf("not within a minute: %s", what)
	}
}

// Holds waits until a condition holds, and returns false if it does not within a minute. Holds
// looks every millisecond. It looks less often at a condition that takes longer to find out: half
// of the time goes to the others.
func Holds(condition func() bool) bool {
	for end := time.Now().Add(patience); ; {
		began := time.Now()
		if condition() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
		time.Sleep(max(time.Millisecond, time.Since(began)))
	}
}
