package soak

import (
	"fmt"
	"syscall"
)

// diskSize is that of a file system in memory: so large that a node's reserve of 1 GB is free.
const diskSize = 4 << 30

// mountDisk mounts a file system of its own at a folder. It takes root.
func mountDisk(dir string) error {
	return syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", int64(diskSize)))
}

// unmountDisk removes the file system, also if somebody still has files open.
func unmountDisk(dir string) error { return syscall.Unmount(dir, syscall.MNT_DETACH) }

// fillDisk makes the file system as small as what is on it.
func fillDisk(dir string) error {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return err
	}
	used := int64(s.Blocks-s.Bfree) * s.Bsize
	return syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%d", used+slack))
}

// slack is what the node may still write meanwhile: else it could not be made so small.
const slack = 1 << 20

// growDisk undoes fillDisk.
func growDisk(dir string) error {
	return syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%d", int64(diskSize)))
}
