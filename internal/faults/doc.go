// Package faults has no code: its tests let processes, hosts and links fail
// while a cluster on a bed of network namespaces moves bytes, and check what
// is left: every byte, which sources are in a result, what was told of it, and
// that nothing hangs or stays behind.
package faults
