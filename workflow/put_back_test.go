package workflow

import (
	"bytes"
	"errors"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// The store takes an array for another object than its bytes. An output is the same one, whether a task has made it or a disk
// has put it again.
func TestAnOutputIsTheSameAsAnArrayAndAsBytes(t *testing.T) {
	b := &bedOf{t: t}
	s := nodeStore{b.join("a", Settings{})}
	data, other := bytes.Repeat([]byte{7}, 200_000), bytes.Repeat([]byte{8}, 200_000)
	array := phalanx.Meta{Size: 200_000, DType: phalanx.Uint64, Shape: []int64{25_000}}
	digest := dataplane.DigestBytes(data)

	if _, err := s.Put(within(t), "made", data, array); err != nil {
		t.Fatal(err)
	}
	if err := s.PutAgain(within(t), "made", bytes.NewReader(data), 200_000, digest, phalanx.Meta{}); err != nil {
		t.Errorf("the checkpoint of an array that is there: %v", err)
	}
	if err := s.PutAgain(within(t), "made", bytes.NewReader(other), 200_000, dataplane.DigestBytes(other), phalanx.Meta{}); !errors.Is(err, phalanx.ErrExists) {
		t.Errorf("the checkpoint has other bytes than the object: %v", err)
	}

	if err := s.PutAgain(within(t), "again", bytes.NewReader(data), 200_000, digest, phalanx.Meta{}); err != nil {
		t.Fatal(err)
	}
	i, err := s.Put(within(t), "again", data, array)
	if err != nil || i.Digest != digest || i.Meta.Size != 200_000 {
		t.Errorf("an array whose bytes are there: %v, %v", i, err)
	}
	if _, err := s.Put(within(t), "again", other, array); !errors.Is(err, phalanx.ErrExists) {
		t.Errorf("an array with other bytes than the object: %v", err)
	}
}

// An array that is lost has its elements again after a disk has put it.
func TestALostArrayIsPutAgainAsAnArray(t *testing.T) {
	b := &bedOf{t: t}
	s, maker := nodeStore{b.join("a", Settings{})}, b.join("maker", Settings{})
	data := bytes.Repeat([]byte{7}, 200_000)
	made, err := maker.Put(within(t), "x", data, cluster.WithArray(phalanx.Uint64, 25_000))
	if err != nil {
		t.Fatal(err)
	}
	die(maker)
	if err := s.Watch(within(t), "x", func(at cluster.Locations) bool { return at.State != "lost" }); err != nil {
		t.Fatal(err)
	}
	if err := s.PutAgain(within(t), "x", bytes.NewReader(data), 200_000, made.Digest, phalanx.Meta{}); err != nil {
		t.Fatal(err)
	}
	at, err := s.Stat(within(t), "x")
	if err != nil || !at.Meta.Equal(made.Meta) {
		t.Errorf("it is %v now, %v, and was %v", at.Meta, err, made.Meta)
	}
}
