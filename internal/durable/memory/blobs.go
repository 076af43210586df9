package memory

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/durable"
)

// Put implements durable.Blobs.
func (d *Disk) Put(place string, r io.Reader, size int64, digest phalanx.Digest) error {
	if _, err := durable.FileName(place); err != nil {
		return err
	}
	if size < 0 {
		return invalid("a blob of %d bytes", size)
	}
	if err := d.takeRoom(size); err != nil {
		return err
	}
	defer d.giveRoom(size)
	var b bytes.Buffer
	if err := durable.CopyChecked(&b, r, size, digest); err != nil {
		return err
	}
	err := d.lock()
	defer d.unlock()
	if err == nil {
		d.folder.blobs[place] = blob{bytes: b.Bytes(), size: size, digest: digest}
	}
	return err
}

// takeRoom returns an error if a blob of size bytes cannot be taken now, beside those that come already.
func (d *Disk) takeRoom(size int64) error {
	err := d.lock()
	defer d.unlock()
	if err != nil {
		return err
	}
	if err := d.folder.space.Fits(d.coming + size); err != nil {
		return err
	}
	d.coming += size
	return nil
}

func (d *Disk) giveRoom(size int64) {
	_ = d.lock() // the Put has ended in any case
	defer d.unlock()
	d.coming -= size
}

// Open implements durable.Blobs.
func (d *Disk) Open(place string) (*durable.Blob, error) {
	if _, err := durable.FileName(place); err != nil {
		return nil, err
	}
	err := d.lock()
	defer d.unlock()
	if err != nil {
		return nil, err
	}
	b, ok := d.folder.blobs[place]
	if !ok {
		return nil, fmt.Errorf("%w: no blob lies under %q", durable.ErrNotFound, place)
	}
	return durable.NewBlob(io.NopCloser(bytes.NewReader(b.bytes)), b.size, b.digest), nil
}

// Delete implements durable.Blobs.
func (d *Disk) Delete(place string) error {
	if _, err := durable.FileName(place); err != nil {
		return err
	}
	err := d.lock()
	defer d.unlock()
	if err == nil {
		delete(d.folder.blobs, place)
	}
	return err
}

// List implements durable.Blobs. Its order is that of the places: the simulator's runs repeat.
func (d *Disk) List(f func(place string, size int64) bool) error {
	err := d.lock()
	var places []string
	sizes := map[string]int64{}
	if err == nil {
		places = slices.Sorted(maps.Keys(d.folder.blobs))
		for place, b := range d.folder.blobs {
			sizes[place] = b.size
		}
	}
	d.unlock()
	for _, place := range places {
		if !f(place, sizes[place]) {
			break
		}
	}
	return err
}
