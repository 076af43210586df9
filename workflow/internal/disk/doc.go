// Package disk is a node's folder on a file system: its identity, the log and the rows of its replica of
// the ledger in pebble, and blobs in files (workflow specification 3.4, 3.7, 3.8 and
// 3.10). It implements durable.Store, whose documentation says what it guarantees.
//
// One goroutine, the committer, makes all changes. It takes all that wait into one batch of pebble and
// syncs if one of them asks for it, so that many writers share a sync. Reads use iterators of their own.
//
// A folder has:
//
//	phalanx.json  the format of the folder and the id of the disk; written last when a folder is made
//	lock          held while a process uses the folder
//	db/           pebble
//	blobs/        a file for each blob; names that begin with ".tmp-" are of Puts that have not ended
//
// # A failed sync
//
// After fsync has failed, the kernel may have dropped the pages it could not write, and the next fsync
// succeeds. Pebble therefore calls Logger.Fatalf when a sync fails, and expects the process to end. With a
// logger that returns, Commit yields nil for rows that are not on the disk (TestLoggerThatReturns shows
// it). Here the first failed sync marks the disk as poisoned before pebble hears of it, and the call never
// returns to pebble; Fatalf marks the disk, too, and never returns. A watcher then answers all that wait,
// and only a commit that ends on an unmarked disk is acknowledged.
//
// # The format of pebble
//
// From FormatWALSyncChunks on, each chunk of pebble's log of writes tells how far the log was synced
// before it, so that damage in the synced part can be told from the torn end of the log. Pebble looks for it
// only from the next block of 32 KB on; checkLogs looks at the rest. Pebble makes a new folder in its
// oldest format and raises it after it has created the first log, which therefore has chunks of the old kind:
// so a new folder is closed and opened again before anything is acknowledged. Nothing tells damage to the very
// last chunk that was synced from a torn end.
package disk
