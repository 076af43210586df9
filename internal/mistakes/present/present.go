// Package present says which mistake a program makes that has all of them.
package present

import (
	"os"
	"strconv"
	"sync/atomic"
)

// Variable is the environment's variable with the number of the mistake that a program makes
// from its start on; without it, none.
const Variable = "PHALANX_MISTAKE"

var number = fromEnvironment()

func fromEnvironment() *atomic.Int64 {
	var n atomic.Int64
	if v, err := strconv.ParseInt(os.Getenv(Variable), 10, 64); err == nil {
		n.Store(v)
	}
	return &n
}

// Is reports whether the program makes the mistake with that number.
func Is(n int64) bool { return number.Load() == n }

// Make has the program make the mistake with that number, and no other; 0 is none.
func Make(n int64) { number.Store(n) }
