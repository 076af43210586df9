// Package groups adds revocable groups to the nodes of package sim: each node's core, as package
// group hosts it, and members that form groups, agree, revoke, shrink and grow.
//
// The checker (checker.go) checks the promises of the groups.
package groups
