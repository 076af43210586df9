package load

import "time"

// PointVar has a process measure the Point that it holds, as JSON, and print it with what it has measured.
const PointVar = "PHALANX_WORKFLOWS_POINT"

// Point is one part of one system.
type Point struct {
	System, Part string
	Lasts        time.Duration // about how long runs are started
	Rounds       int           // of Killed
	Dir          string        // for everything durable
	Samples      Samples
}
