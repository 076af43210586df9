// Package barriers has the nodes of package sim host partial barriers: the core of each node, as
// package barrier hosts it, participants that enter, leave, give up and join, and a checker of
// what the barriers promise (checker.go).
package barriers
