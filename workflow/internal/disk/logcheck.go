package disk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/phalanx-go/phalanx/internal/durable"
)

// Pebble's log of writes is made of blocks of 32 KB, and these of chunks. A chunk has a header of 19 bytes:
// a checksum of what follows its length, the length of its bytes, its type, the number of the log, and how far the
// log was synced when it was written (pebble's package record; checkLogs knows the format that pebbleFormat
// stands for).
const (
	logBlock      = 32 << 10
	chunkHeader   = 19
	firstSyncType = 9 // chunks that tell how far the log was synced have the types 9 to 12
	lastSyncType  = 12
)

// checkLogs looks for damage in pebble's logs before pebble reads them. Pebble stops at the first chunk that is not
// right. It looks only in later blocks for a chunk that was written after a sync of the damaged one, so that damage
// in the last 32 KB would lose rows without a word; it also takes a chunk with the number of the next log for the
// log's end. Here each later chunk counts. Damage to the last chunk that was synced cannot be told from a torn end.
func (d *Disk) checkLogs() error {
	dir := d.fs.PathJoin(d.dir, dbName)
	names, err := d.fs.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		digits, isLog := strings.CutSuffix(name, ".log")
		log, err := strconv.ParseUint(digits, 10, 64)
		if !isLog || err != nil { // another file of pebble
			continue
		}
		if err := d.checkLog(d.fs.PathJoin(dir, name), uint32(log)); err != nil {
			return err
		}
	}
	return nil
}

func (d *Disk) checkLog(path string, number uint32) error {
	f, err := d.fs.Open(path, vfs.SequentialReadsOption)
	if err != nil {
		return err
	}
	check := logCheck{number: number}
	block := make([]byte, logBlock)
	for {
		n, err := io.ReadFull(f, block)
		if lost := check.block(block[:n]); lost > 0 {
			err = fmt.Errorf("%w: %s is damaged at byte %d, and was synced up to byte %d", durable.ErrCorrupt, path, check.offset, lost)
			return errors.Join(err, f.Close())
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return f.Close()
		}
		if err != nil {
			return errors.Join(err, f.Close())
		}
	}
}

// logCheck reads a log block by block.
type logCheck struct {
	number uint32 // of the log
	offset uint64 // of the first chunk that is not right, or of the next block
	ended  bool   // offset is of such a chunk
	base   uint64 // of the next block
}

// block takes the next block. It returns how far the log was synced, if that is beyond the first chunk
// that is not right, else 0.
func (l *logCheck) block(b []byte) (synced uint64) {
	at := 0
	if !l.ended {
		at = l.follow(b)
	}
	for ; l.ended && at+chunkHeader <= len(b); at++ { // where chunks begin is no longer known
		if _, synced, ok := l.chunk(b[at:]); ok && synced > l.offset {
			return synced
		}
	}
	l.base += logBlock
	return 0
}

// follow goes from chunk to chunk. It returns where it has stopped.
func (l *logCheck) follow(b []byte) int {
	at := 0
	for {
		l.offset = l.base + uint64(at)
		rest := b[at:]
		if len(rest) < chunkHeader && len(strings.Trim(string(rest), "\x00")) == 0 {
			return at // the end of the block is too short for a chunk
		}
		length, _, ok := l.chunk(rest)
		if !ok {
			l.ended = true
			return at
		}
		at += length
	}
}

// chunk returns the length of the chunk at the beginning of b, and how far the log was synced before it.
func (l *logCheck) chunk(b []byte) (length int, synced uint64, ok bool) {
	if len(b) < chunkHeader || b[6] < firstSyncType || b[6] > lastSyncType || binary.LittleEndian.Uint32(b[7:]) != l.number {
		return 0, 0, false
	}
	length = chunkHeader + int(binary.LittleEndian.Uint16(b[4:]))
	if length > len(b) || checksum(b[6:length]) != binary.LittleEndian.Uint32(b) {
		return 0, 0, false
	}
	return length, binary.LittleEndian.Uint64(b[11:]), true
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is pebble's: a CRC of bytes that may have CRCs in them.
func checksum(b []byte) uint32 {
	c := crc32.Checksum(b, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}
