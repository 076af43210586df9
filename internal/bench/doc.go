// Package bench measures the collectives of a running cluster: agents, which are
// actors on its members, carry out the orders of a driver on one of them, all at
// once, and check every element of the objects that they get.
package bench
