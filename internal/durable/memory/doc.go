// Package memory is a durable.Store in memory whose owner decides when it loses what. The simulator
// gives its nodes such disks: a Folder is what survives a crash, a Disk is its use by one process.
//
// A write that was not synced may be lost in a crash with all later ones; Crash is told how many stay.
// Fail makes a sync fail, Full uses up the space, Corrupt changes a blob, and Copy makes the copy of a folder that
// somebody restores by mistake. A Disk starts no goroutine and reads no clock: what it does later, its owner
// runs (Config.Later).
package memory
