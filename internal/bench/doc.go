// Package bench measures the collectives of a running cluster: agents, which are
// actors on its members, carry out what a driver on one of them says, all at once,
// and check every element of what they get.
package bench
