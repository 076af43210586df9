//go:build mistakes

package planted

var present Mistake

// Plant has every core make m from now on, and no other mistake. It must not be
// called while one runs.
func Plant(m Mistake) { present = m }

// On reports whether m is to be made.
func On(m Mistake) bool { return m == present }
