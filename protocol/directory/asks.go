package directory

// Asks reports whether v, which is sent to another node, is answered: its sender
// repeats it until then.
func Asks(v any) bool {
	switch v.(type) {
	case Request, Holdings, Replicate, Push, Readiness, AskLease:
		return true
	}
	return false
}
