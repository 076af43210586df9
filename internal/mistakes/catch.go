package mistakes

// Catch is what a simulation has to say of a mistake.
type Catch struct {
	Seeds   uint64 // that were run
	Found   string // by the last one; "": nothing
	Problem string // with the run that found it
}
