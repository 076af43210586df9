//go:build !linux

package timer

func newImpl(fire func()) impl { return &usual{fire: fire} }
