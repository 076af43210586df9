package disk

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"google.golang.org/protobuf/proto"

	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// replica is what the committer knows of the replica. Only the committer uses it, besides set.
type replica struct {
	number      uint64 // 0: none has begun
	first, last uint64 // of the log's entries; last is first-1 if there are none
	applied     uint64
	set         atomic.Uint64 // of rows, the current one
}

// manyEntries is from how many entries on they are deleted as a range. Pebble looks at all ranges of
// a memtable when it reads, so that small ones are not worth it.
const manyEntries = 256

// Apply implements durable.Replica.
func (d *Disk) Apply(w ledger.Write, done func(error)) {
	d.submit(change{size: sizeOf(&w), sync: w.Sync, done: done, fill: func(b *pebble.Batch) error {
		if err := d.write(b, &w); err != nil {
			d.poison.mark(fmt.Errorf("write %d: %w", w.Number, err))
			return err
		}
		return nil
	}})
}

// sizeOf returns about how many bytes w takes.
func sizeOf(w *ledger.Write) int {
	size := 256
	for i := range w.Rows {
		size += 32 + len(w.Rows[i].Key) + len(w.Rows[i].End) + len(w.Rows[i].Value)
	}
	for _, e := range w.Entries {
		size += 64 + len(e.GetData())
	}
	return size
}

// write adds w to a batch. It refuses a Write that breaks the order of the log: the core that sent
// it no longer knows what the disk has.
func (d *Disk) write(b *pebble.Batch, w *ledger.Write) error {
	r := &d.replica
	if r.number == 0 {
		return invalid("no replica has begun")
	}
	fill := filler{b: b}
	if w.Install != nil {
		if err := d.install(&fill, w.Install); err != nil {
			return err
		}
	}
	committed := r.applied
	if err := fill.rows(r.set.Load(), w.Rows); err != nil {
		return err
	}
	if w.Applied != 0 {
		if w.Applied < r.applied {
			return invalid("applied would go back from %d to %d", r.applied, w.Applied)
		}
		r.applied = w.Applied
		fill.set(keyApplied, number(w.Applied))
	}
	if w.Conf != nil {
		fill.message(keyConf, w.Conf)
	}
	if err := d.entries(&fill, w, committed); err != nil {
		return err
	}
	if w.Hard != nil {
		fill.message(keyHard, w.Hard)
	}
	if err := d.compact(&fill, w.Compact); err != nil {
		return err
	}
	return fill.err
}

// entries puts the entries of w into the log, in place of those from the first one's index on. Those up to
// committed cannot change any more.
func (d *Disk) entries(fill *filler, w *ledger.Write, committed uint64) error {
	r := &d.replica
	if len(w.Entries) > 0 {
		from := w.Entries[0].GetIndex()
		switch {
		case from <= committed:
			return invalid("entry %d was applied and would be replaced", from)
		case r.last < r.first && from == committed+1: // the log is empty
			r.first = from
		case from < r.first || from > r.last+1:
			return invalid("entry %d does not follow a log of %d to %d", from, r.first, r.last)
		}
		for i, e := range w.Entries {
			if e.GetIndex() != from+uint64(i) {
				return invalid("entry %d comes at the place of %d", e.GetIndex(), from+uint64(i))
			}
			fill.message(entryKey(e.GetIndex()), e)
		}
		last := from + uint64(len(w.Entries)) - 1
		fill.deleteEntries(last+1, r.last+1)
		r.last = last
	}
	if r.last >= r.first && (r.applied > r.last || r.applied+1 < r.first) {
		return invalid("applied is %d with a log of %d to %d", r.applied, r.first, r.last)
	}
	return nil
}

// compact deletes the entries before index. The one at index stays: it has the term that the entry
// after it has to follow.
func (d *Disk) compact(fill *filler, index uint64) error {
	r := &d.replica
	if index > r.applied {
		return invalid("entries up to %d would be deleted, but only %d are applied", index, r.applied)
	}
	if to := min(index, r.last); to > r.first {
		fill.deleteEntries(r.first, to)
		r.first = to
	}
	return nil
}

// install makes the rows of a stream the current ones and empties the log.
func (d *Disk) install(fill *filler, in *ledger.Install) error {
	r := &d.replica
	if in.Index <= r.applied {
		return invalid("a snapshot of %d would be installed over %d", in.Index, r.applied)
	}
	set, err := d.streams.installed(in)
	if err != nil {
		return err
	}
	fill.deleteRange(rowKey(r.set.Load(), ""), setEnd(r.set.Load()))
	fill.deleteRange(entryKey(0), []byte{entrySpace + 1})
	fill.set(keyRows, number(set))
	fill.set(keyApplied, number(in.Index))
	fill.set(keyBase, binary.BigEndian.AppendUint64(number(in.Index), in.Term))
	if in.Conf != nil {
		fill.message(keyConf, in.Conf)
	}
	r.set.Store(set)
	r.applied, r.first, r.last = in.Index, in.Index+1, in.Index
	return nil
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", durable.ErrInvalid, fmt.Sprintf(format, args...))
}

// filler adds to a batch and keeps the first error.
type filler struct {
	b   *pebble.Batch
	err error
}

func (f *filler) keep(err error) {
	if f.err == nil {
		f.err = err
	}
}

func (f *filler) set(key, value []byte) { f.keep(f.b.Set(key, value, nil)) }

func (f *filler) delete(key []byte) { f.keep(f.b.Delete(key, nil)) }

func (f *filler) deleteRange(from, to []byte) { f.keep(f.b.DeleteRange(from, to, nil)) }

func (f *filler) message(key []byte, m proto.Message) {
	value, err := proto.Marshal(m)
	f.keep(err)
	f.set(key, value)
}

// deleteEntries deletes the entries of [from, to).
func (f *filler) deleteEntries(from, to uint64) {
	if to > from && to-from >= manyEntries {
		f.deleteRange(entryKey(from), entryKey(to))
		return
	}
	for ; from < to; from++ {
		f.delete(entryKey(from))
	}
}

// rows puts and deletes rows of a set.
func (f *filler) rows(set uint64, rows []ledger.Row) error {
	for i := range rows {
		row := &rows[i]
		if len(row.Key) > durable.MaxKey || len(row.End) > durable.MaxKey || len(row.Value) > durable.MaxValue {
			return invalid("a row has a key of %d bytes and a value of %d", max(len(row.Key), len(row.End)), len(row.Value))
		}
		switch key := rowKey(set, row.Key); {
		case row.End != "":
			if row.End > row.Key { // else there is nothing between them
				f.deleteRange(key, rowKey(set, row.End))
			}
		case row.Value == nil:
			f.delete(key)
		default:
			f.set(key, row.Value)
		}
	}
	return nil
}
