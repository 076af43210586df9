package mistakes

// Catch is the result of a search for a mistake by simulation.
type Catch struct {
	Seeds   uint64 // the number of runs
	Found   string // the error of the last run; "": no run found the mistake
	Problem string // with the run that found it
}
