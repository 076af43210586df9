package workflow

import (
	"encoding/json"
	"fmt"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode"
)

// Ref is an immutable object in the store, which a task has made or was passed (workflow specification 1.3). It can stand anywhere in an
// argument or an output: in fields, pointers, slices and maps; the run finds it there. In a protobuf message, in bytes, or in a
// type with a JSON form of its own nobody finds it: registration refuses such types where it sees a Ref. The zero Ref is none.
type Ref struct {
	id     phalanx.ObjectID
	size   int64
	digest phalanx.Digest
}

// ID returns the id of the object.
func (r Ref) ID() phalanx.ObjectID { return r.id }

// Size returns the size of the object in bytes.
func (r Ref) Size() int64 { return r.size }

// Digest returns the digest of the object.
func (r Ref) Digest() phalanx.Digest { return r.digest }

// IsZero reports whether r is none.
func (r Ref) IsZero() bool { return r == Ref{} }

// RefOf returns the Ref of an object that a program has put, to pass it to a workflow: Value(RefOf(info)), or
// Borrowed(RefOf(info)).
func RefOf(i storenode.Info) Ref { return Ref{id: i.Object, size: i.Meta.Size, digest: i.Digest} }

type refForm struct {
	Object string `json:"ref"`
	Size   int64  `json:"size"`
	Digest string `json:"digest"`
}

// MarshalJSON is the form in which Refs go between tasks.
func (r Ref) MarshalJSON() ([]byte, error) {
	if r.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal(refForm{string(r.id), r.size, r.digest.String()})
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (r *Ref) UnmarshalJSON(b []byte) error {
	var f *refForm
	if err := json.Unmarshal(b, &f); err != nil || f == nil {
		*r = Ref{}
		return err
	}
	d, err := phalanx.ParseDigest(f.Digest)
	if err != nil {
		return err
	}
	if err := phalanx.ObjectID(f.Object).Validate(); err != nil {
		return err
	}
	if f.Size < 0 {
		return fmt.Errorf("the Ref of %q has the size %d", f.Object, f.Size)
	}
	*r = Ref{phalanx.ObjectID(f.Object), f.Size, d}
	return nil
}

// PutArray makes an object of an array, as Context.Put; without a shape it has one dimension.
func PutArray[E cluster.Element](c Context, name string, values []E, shape ...int64) (Ref, error) {
	if shape == nil {
		shape = []int64{int64(len(values))}
	}
	return c.PutAs(name, cluster.BytesOf(values), phalanx.Meta{DType: cluster.DTypeOf[E](), Shape: shape})
}

// GetArray reads an object as an array with elements of type E, without a copy, as Context.Get; another type is ErrMismatch.
func GetArray[E cluster.Element](c Context, r Ref) (*cluster.Array[E], error) {
	v, err := c.Get(r)
	if err != nil {
		return nil, err
	}
	return cluster.ArrayOf[E](v)
}

// GetBytes reads an object into memory of the task's own.
func GetBytes(c Context, r Ref) ([]byte, error) {
	v, err := c.Get(r)
	if err != nil {
		return nil, err
	}
	defer v.Release()
	return append([]byte(nil), v.Bytes()...), nil
}
