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
	held  Holder
	once  sync.Once
}

// Holder keeps the bytes of a View.
type Holder interface {
	// Release says that the View's caller reads it no more. The first Release of the View calls it.
	Release()
}

// NewView returns a view of bytes that held keeps until the view is released.
func NewView(info Info, bytes []byte, held Holder) *View {
	return &View{info: info, bytes: bytes, held: held}
}

// Bytes returns the object. It is read-only and valid until Release.
func (v *View) Bytes() []byte { return v.bytes }

// Info describes the object.
func (v *View) Info() Info { return v.info }

// Meta returns the object's size, element type and shape.
func (v *View) Meta() phalanx.Meta { return v.info.Meta }

// Release gives the bytes back. Releasing twice is harmless, and so is releasing nil.
func (v *View) Release() {
	if v == nil {
		return
	}
	v.once.Do(func() {
		v.held.Release()
		v.bytes = nil
	})
}
