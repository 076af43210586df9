package leave

// Service is how much a service of the node has to hand over yet, as it has said of a view.
type Service struct {
	View uint64
	Left int
}

// Remains reports whether it has, or may have, something to hand over in the present view: it has to
// have heard of that view first.
func (s Service) Remains(view uint64) bool { return s.Left > 0 || s.View < view }
