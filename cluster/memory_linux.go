package cluster

import "golang.org/x/sys/unix"

// machineMemory returns the bytes of memory that this machine has.
func machineMemory() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 4 << 30
	}
	return int64(info.Totalram) * int64(info.Unit)
}
