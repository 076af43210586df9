//go:build !race

package disk

// stride is of tests that take many rounds.
const stride = 1
