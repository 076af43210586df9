// Package durable says what workflows ask of durable storage (workflow specification
// 3.3 to 3.10): Log and Blobs, which any durable store can offer, and Store, the folder of a node that
// holds one replica of the ledger. It also has what every implementation shares: the errors, the
// names of blobs, the check of a blob's bytes, and the encoding of a snapshot's rows.
//
// workflow/internal/disk implements Store on a file system; internal/durable/memory implements it for
// the simulator, which decides what a crash loses. internal/durable/conformance tests both.
//
// A Store guarantees, while its file system keeps what it has synced:
//
//  1. A Write is there as a whole or not at all, and only if all earlier ones are.
//  2. A Write with Sync that was acknowledged survives a crash at any later time.
//  3. After one sync has failed, nothing is acknowledged any more and nothing is read.
//  4. Bytes that have changed on the medium are reported as corrupt and never returned as complete.
package durable
