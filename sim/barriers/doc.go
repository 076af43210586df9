// Package barriers adds partial barriers to the nodes of package sim: each node's core, as package
// barrier hosts it, participants that enter, leave, give up and join, and a checker of the
// barriers' promises (checker.go).
package barriers
