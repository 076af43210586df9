//go:build race

package disk

// stride is of tests that take many rounds: with the race detector pebble checks itself, and is slow.
const stride = 5
