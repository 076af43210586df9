package e2e

import (
	"fmt"
	"sync/atomic"
)

var names atomic.Int64

// fresh returns a name that no test has used: deleted ids cannot be used again
// at once, and tests can be repeated.
func fresh(name string) string { return fmt.Sprintf("%s/%d", name, names.Add(1)) }
