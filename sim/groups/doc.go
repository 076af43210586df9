// Package groups has the nodes of package sim host groups that can be revoked: the core of each
// node, as package group hosts it, and members that form groups, agree, revoke, shrink and grow.
//
// The checker (checker.go) looks at what the groups promise.
package groups
