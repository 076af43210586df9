// Package groups simulates groups that can be revoked: the real cores of many nodes,
// and members that form groups, agree, revoke, shrink and grow while nodes fail.
//
// What has to hold is in checker.go.
package groups
