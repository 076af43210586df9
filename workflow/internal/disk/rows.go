package disk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

// read runs f, which reads pebble, unless the disk is poisoned or closed. It keeps Close from
// closing pebble meanwhile, and does not wait for a pebble that hangs.
func (d *Disk) read(f func() error) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	return d.poison.guard(f)
}

// enter keeps pebble open until leave. A caller may enter twice.
func (d *Disk) enter() error {
	if err := d.poison.err(); err != nil {
		return err
	}
	d.users.mu.Lock()
	defer d.users.mu.Unlock()
	if d.users.closed {
		return durable.ErrClosed
	}
	d.users.n++
	return nil
}

func (d *Disk) leave() {
	d.users.mu.Lock()
	defer d.users.mu.Unlock()
	if d.users.n--; d.users.n == 0 && d.users.closed {
		close(d.users.none)
	}
}

// Get implements durable.Replica.
func (d *Disk) Get(key string) (value []byte, found bool, err error) {
	err = d.read(func() error {
		var err error
		value, found, err = d.get(key)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return value, found, nil
}

func (d *Disk) get(key string) ([]byte, bool, error) {
	for set := d.replica.set.Load(); ; {
		value, found, err := d.lookup(rowKey(set, key))
		if found || err != nil {
			return value, found, err
		}
		now, err := d.currentSet() // an install may have moved the rows meanwhile
		if err != nil || now == set {
			return nil, false, err
		}
		set = now
	}
}

// currentSet returns the number of the current set of rows, as pebble has it.
func (d *Disk) currentSet() (uint64, error) {
	value, found, err := d.lookup(keyRows)
	if err != nil || !found {
		return 0, err
	}
	if len(value) != 8 {
		return 0, fmt.Errorf("%w: %q has %d bytes", durable.ErrCorrupt, keyRows, len(value))
	}
	return binary.BigEndian.Uint64(value), nil
}

// lookup returns a copy of the value under a key of pebble.
func (d *Disk) lookup(key []byte) ([]byte, bool, error) {
	value, closer, err := d.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, corrupt(err)
	}
	value = append(make([]byte, 0, len(value)), value...)
	return value, true, corrupt(closer.Close())
}

// view is the rows of one moment: an iterator whose keys are some of those of the current set.
type view struct {
	it   *pebble.Iterator
	skip int // bytes before the key of a row
}

// bounds returns the first key of some rows of a set, and the first after them.
type bounds func(set uint64) (lower, upper []byte)

func withPrefix(prefix string) bounds {
	return func(set uint64) (lower, upper []byte) {
		lower = rowKey(set, prefix)
		return lower, after(lower)
	}
}

func between(key, end string) bounds {
	return func(set uint64) (lower, upper []byte) {
		if end == "" {
			return rowKey(set, key), setEnd(set)
		}
		return rowKey(set, key), rowKey(set, max(key, end))
	}
}

// newView returns the rows of this moment. The caller has entered, and closes the iterator.
func (d *Disk) newView(rows bounds, first func(*meta)) (view, error) {
	var v view
	err := d.poison.guard(func() error {
		it, err := d.db.NewIter(nil)
		if err != nil {
			return corrupt(err)
		}
		m := meta{it: it}
		first(&m)
		lower, upper := rows(m.number(keyRows))
		if m.err != nil {
			return errors.Join(m.err, it.Close())
		}
		v = view{it: it, skip: len(rowKey(0, ""))}
		it.SetBounds(lower, upper)
		return nil
	})
	if err != nil {
		return view{}, err // f may go on, and set v
	}
	return v, nil
}

// Scan implements durable.Replica.
func (d *Disk) Scan(prefix string, f func(ledger.Row) bool) error {
	return d.scan(withPrefix(prefix), 0, f)
}

// Range implements durable.Replica.
func (d *Disk) Range(key, end string, limit int, f func(ledger.Row) bool) error {
	return d.scan(between(key, end), limit, f)
}

func (d *Disk) scan(rows bounds, limit int, f func(ledger.Row) bool) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	v, err := d.newView(rows, func(*meta) {})
	if err != nil {
		return err
	}
	err = v.each(limit, f)
	return errors.Join(err, d.poison.guard(func() error { return corrupt(v.it.Close()) }), d.poison.err())
}

func (v view) each(limit int, f func(ledger.Row) bool) error {
	n := 0
	for ok := v.it.First(); ok; ok = v.it.Next() {
		value, err := v.it.ValueAndErr()
		if err != nil {
			return corrupt(err)
		}
		if !f(ledger.Row{Key: string(v.it.Key()[v.skip:]), Value: bytes.Clone(value)}) {
			return nil
		}
		if n++; n == limit {
			return nil
		}
	}
	return corrupt(v.it.Error())
}
