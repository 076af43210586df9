package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Limits of what a replica accepts, whatever its own configuration says.
const (
	maxEntry = 1 << 20  // bytes of an encoded append
	maxKey   = 16 << 10 // bytes of a key
)

// batchFormat is the first byte of an encoded batch. A replica that does not know it can neither
// accept nor apply the entry.
const batchFormat = 1

// batch is the content of an entry: the rows of one append, and which append of which tenure it is.
type batch struct {
	term   uint64 // of the tenure
	number uint64 // of the append, from 1 on
	rows   []Row
}

// The kinds of encoded rows.
const (
	putRow = iota + 1
	deleteRow
	deleteRange
)

// valid says what is wrong with a row.
func (r Row) valid() error {
	switch {
	case r.Key == "":
		return errors.New("a row has no key")
	case len(r.Key) > maxKey || len(r.End) > maxKey:
		return fmt.Errorf("a key is longer than %d bytes", maxKey)
	case r.End != "" && r.Value != nil:
		return errors.New("a row deletes a range and has a value")
	case r.End != "" && r.End <= r.Key:
		return errors.New("a range ends before it begins")
	}
	return nil
}

// encode returns the batch as an entry's data. Its rows are valid.
//
//	format, term, number, count of rows, then for each: kind, key, and the end or the value
//
// Numbers are varints, and texts have their length before them.
func (b batch) encode() []byte {
	size := 1 + 3*binary.MaxVarintLen64
	for _, r := range b.rows {
		size += 1 + 2*binary.MaxVarintLen32 + len(r.Key) + len(r.End) + len(r.Value)
	}
	data := append(make([]byte, 0, size), batchFormat)
	data = binary.AppendUvarint(data, b.term)
	data = binary.AppendUvarint(data, b.number)
	data = binary.AppendUvarint(data, uint64(len(b.rows)))
	text := func(s string) { data = append(binary.AppendUvarint(data, uint64(len(s))), s...) }
	for _, r := range b.rows {
		switch {
		case r.End != "":
			data = append(data, deleteRange)
			text(r.Key)
			text(r.End)
		case r.Value == nil:
			data = append(data, deleteRow)
			text(r.Key)
		default:
			data = append(data, putRow)
			text(r.Key)
			data = append(binary.AppendUvarint(data, uint64(len(r.Value))), r.Value...)
		}
	}
	return data
}

var errBatch = errors.New("it is no encoded batch of rows")

// decodeBatch returns the batch in data, of which the rows' values stay a part.
func decodeBatch(data []byte) (batch, error) {
	if len(data) == 0 || len(data) > maxEntry {
		return batch{}, errBatch
	}
	if data[0] != batchFormat {
		return batch{}, fmt.Errorf("it has the format %d, which this version does not know", data[0])
	}
	d := decoder{rest: data[1:]}
	b := batch{term: d.number(), number: d.number()}
	count := d.number()
	if count == 0 || count > uint64(len(d.rest)) { // a row has more than one byte
		return batch{}, errBatch
	}
	b.rows = make([]Row, 0, min(count, uint64(len(d.rest))/3+1))
	for range count {
		var r Row
		switch d.byte() {
		case putRow:
			r.Key, r.Value = string(d.text()), d.text()
		case deleteRow:
			r.Key = string(d.text())
		case deleteRange:
			r.Key, r.End = string(d.text()), string(d.text())
			d.bad = d.bad || r.End == ""
		default:
			d.bad = true
		}
		if d.bad || r.valid() != nil {
			return batch{}, errBatch
		}
		b.rows = append(b.rows, r)
	}
	if d.bad || len(d.rest) > 0 {
		return batch{}, errBatch
	}
	return b, nil
}

// decoder takes the parts of a batch off its front.
type decoder struct {
	rest []byte
	bad  bool // the rest does not begin as it should
}

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 || size > 1 && d.rest[size-1] == 0 { // only the shortest encoding counts
		d.bad, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

func (d *decoder) byte() byte {
	if len(d.rest) == 0 {
		d.bad = true
		return 0
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b
}

// text returns a text, which is not nil.
func (d *decoder) text() []byte {
	n := d.number()
	if n > uint64(len(d.rest)) {
		d.bad, d.rest = true, nil
		return nil
	}
	text := d.rest[:n:n]
	d.rest = d.rest[n:]
	if text == nil {
		text = []byte{}
	}
	return text
}
