// Package leaks finds goroutines that tests have left behind.
package leaks

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// VerifyTestMain is goleak's, with more patience: the actor library's throttle of
// dead letters ends by itself, a second later.
func VerifyTestMain(m *testing.M) {
	code := m.Run()
	if err := Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "goroutines were left:", err)
		code = 1
	}
	os.Exit(code)
}

// Find returns an error that describes what is left, if anything stays so.
func Find() (err error) {
	for range 8 { // each waits for about half a second
		if err = goleak.Find(); err == nil {
			return nil
		}
	}
	return err
}
