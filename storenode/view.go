package storenode

import (
	"sync"

	"github.com/phalanx-go/phalanx"
)

// View is a complete object at this node, without a copy of its bytes. As long
// as it is not released the bytes stay, also when the object is deleted.
type View struct {
	info  Info
	bytes []byte
	copy  *objectCopy // retained
	table *Table
	once  sync.Once

	released func() // tells the registry; may be nil
}

// Bytes returns the object. It is read-only and valid until Release.
func (v *View) Bytes() []byte { return v.bytes }

// Info describes the object.
func (v *View) Info() Info { return v.info }

// Meta returns the object's size, element type and shape.
func (v *View) Meta() phalanx.Meta { return v.info.Meta }

// Release gives the bytes back. Releasing twice is harmless.
func (v *View) Release() {
	v.once.Do(func() {
		v.table.release(v.copy)
		v.bytes = nil
		if v.released != nil {
			v.released()
		}
	})
}
