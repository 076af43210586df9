// Package e2e has only tests: application actors in a cluster of several
// processes that put, get and reduce, and check every byte.
package e2e
