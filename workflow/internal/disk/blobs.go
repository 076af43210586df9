package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/zeebo/xxh3"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/durable"
)

// A blob's file begins with: blobMagic, its size (8 bytes, big endian), its digest (16), and the hash of
// these and of its place (XXH3, 64 bits). Its bytes follow.
const (
	blobMagic  = "phxblob1"
	blobHeader = len(blobMagic) + 8 + 16 + 8
)

// tmpPrefix begins the names of files that are being written; no place has such a name.
const tmpPrefix = ".tmp-"

// blobs are the Puts that have not ended.
type blobs struct {
	mu     sync.Mutex
	next   uint64 // numbers the temporary files
	coming int64  // bytes that these Puts were announced
}

// tmpName returns a name that no other Put has, one of an earlier use of the folder included.
func (d *Disk) tmpName() string {
	d.blobs.mu.Lock()
	defer d.blobs.mu.Unlock()
	d.blobs.next++
	return fmt.Sprintf("%s%d-%d", tmpPrefix, d.identity.Opens, d.blobs.next)
}

func header(place string, size int64, digest phalanx.Digest) []byte {
	b := binary.BigEndian.AppendUint64([]byte(blobMagic), uint64(size))
	b = append(b, digest[:]...)
	return binary.BigEndian.AppendUint64(b, xxh3.Hash(append(b[:len(b):len(b)], place...)))
}

func (d *Disk) blobPath(name string) string { return d.fs.PathJoin(d.dir, blobsName, name) }

// Put implements durable.Blobs.
func (d *Disk) Put(place string, r io.Reader, size int64, digest phalanx.Digest) error {
	name, err := durable.FileName(place)
	if err != nil {
		return err
	}
	if size < 0 {
		return invalid("a blob of %d bytes", size)
	}
	if err := d.takeRoom(size); err != nil {
		return err
	}
	defer d.giveRoom(size)
	tmp := d.blobPath(d.tmpName())
	err = d.writeBlob(tmp, place, r, size, digest)
	if err == nil {
		err = d.publishBlob(tmp, d.blobPath(name))
	}
	if err != nil {
		return errors.Join(noSpace(err), d.removeBlob(tmp))
	}
	return nil
}

// takeRoom returns an error if a blob of size bytes cannot be taken now, beside those that come already. What
// these have written counts twice: near the reserve that refuses a blob rather than taking one too many.
func (d *Disk) takeRoom(size int64) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	space, err := d.Space()
	if err != nil {
		return err
	}
	d.blobs.mu.Lock()
	defer d.blobs.mu.Unlock()
	if err := space.Fits(d.blobs.coming + size); err != nil {
		return err
	}
	d.blobs.coming += size
	return nil
}

func (d *Disk) giveRoom(size int64) {
	d.blobs.mu.Lock()
	defer d.blobs.mu.Unlock()
	d.blobs.coming -= size
}

// publishBlob gives a file that is synced its name. Close waits for it, but not for the reader of Put. After the rename
// only a sync that fails is an error, and that poisons the disk: the folder is opened before.
func (d *Disk) publishBlob(tmp, path string) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	dir, err := d.fs.OpenDir(d.blobPath(""))
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := d.fs.Rename(tmp, path); err != nil {
		return err
	}
	if err := d.sync(dir, d.blobPath("")); err != nil {
		return err
	}
	return d.poison.err() // another sync may have failed meanwhile
}

// noSpace gives the error of a full file system the kind it has here.
func noSpace(err error) error {
	if vfs.IsNoSpaceError(err) {
		return fmt.Errorf("%w: %w", durable.ErrNoSpace, err)
	}
	return err
}

// writeBlob writes and syncs a file.
func (d *Disk) writeBlob(path, place string, r io.Reader, size int64, digest phalanx.Digest) error {
	f, err := d.fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if _, err = f.Write(header(place, size, digest)); err == nil {
		err = durable.CopyChecked(&steadyWriter{d: d, f: f, name: path}, r, size, digest)
	}
	if err == nil {
		err = d.sync(f, path)
	}
	return errors.Join(err, f.Close())
}

// steadyBytes is after how many bytes of a blob the operating system is told to begin to write them.
const steadyBytes = 4 << 20

// steadyWriter writes a blob at the speed of the disk. If all of a large blob were written by its sync, the syncs of
// the log would wait for it: with 1 GB for 0.6 s, and a leader whose disk is 2 s late hands over.
type steadyWriter struct {
	d    *Disk
	f    vfs.File
	name string
	n    int64 // bytes so far
	told int64
}

func (w *steadyWriter) Write(p []byte) (int, error) {
	n, err := w.f.Write(p)
	w.n += int64(n)
	if err == nil && w.n-w.told >= steadyBytes {
		w.told = w.n
		if _, err = w.f.SyncTo(w.n); err != nil { // the sync of the file might succeed after it
			w.d.poison.mark(fmt.Errorf("sync of %s: %w", w.name, err))
		}
	}
	return n, err
}

func (d *Disk) removeBlob(path string) error {
	if err := d.fs.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Open implements durable.Blobs.
func (d *Disk) Open(place string) (*durable.Blob, error) {
	name, err := durable.FileName(place)
	if err != nil {
		return nil, err
	}
	if err := d.enter(); err != nil {
		return nil, err
	}
	defer d.leave()
	f, err := d.fs.Open(d.blobPath(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: no blob lies under %q", durable.ErrNotFound, place)
	}
	if err != nil {
		return nil, err
	}
	blob, err := openBlob(f, place)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return blob, nil
}

// openBlob reads and checks the header.
func openBlob(f vfs.File, place string) (*durable.Blob, error) {
	b := make([]byte, blobHeader)
	if _, err := io.ReadFull(f, b); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	size := int64(binary.BigEndian.Uint64(b[len(blobMagic):]))
	digest := phalanx.Digest(b[len(blobMagic)+8:])
	if size < 0 || string(header(place, size, digest)) != string(b) {
		return nil, fmt.Errorf("%w: the header of the blob %q is not as written", durable.ErrCorrupt, place)
	}
	return durable.NewBlob(f, size, digest), nil
}

// Delete implements durable.Blobs. It is not synced: what comes back after a crash is swept again.
func (d *Disk) Delete(place string) error {
	name, err := durable.FileName(place)
	if err != nil {
		return err
	}
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	return d.removeBlob(d.blobPath(name))
}

// List implements durable.Blobs. It holds the names in memory.
func (d *Disk) List(f func(place string, size int64) bool) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	names, err := d.fs.List(d.blobPath(""))
	if err != nil {
		return err
	}
	for _, name := range names {
		place, ok := durable.Place(name)
		if !ok {
			continue // temporary, or not ours
		}
		info, err := d.fs.Stat(d.blobPath(name))
		if errors.Is(err, fs.ErrNotExist) { // deleted meanwhile
			continue
		}
		if err != nil {
			return err
		}
		if !f(place, max(0, info.Size()-int64(blobHeader))) {
			return nil
		}
	}
	return nil
}

// sweepBlobs removes the temporary files of Puts that a crash has ended.
func (d *Disk) sweepBlobs() error {
	if err := d.makeDir(d.blobPath(""), ownerOnly); err != nil { // somebody may have removed it
		return err
	}
	names, err := d.fs.List(d.blobPath(""))
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasPrefix(name, tmpPrefix) {
			if err := d.removeBlob(d.blobPath(name)); err != nil {
				return err
			}
		}
	}
	return nil
}
