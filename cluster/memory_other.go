//go:build !linux

package cluster

// machineMemory is unknown on this system.
func machineMemory() int64 { return 4 << 30 }
