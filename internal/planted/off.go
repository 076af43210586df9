//go:build !mistakes

package planted

// On reports whether m is to be made: never.
func On(Mistake) bool { return false }
