//go:build !linux

package cluster

// machineMemory stands for what cannot be asked here.
func machineMemory() int64 { return 4 << 30 }
