package conformance

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/durable"
)

// keep puts a blob.
func (f *fixture) keep(place string, b []byte) {
	f.Helper()
	f.ok(f.Put(place, bytes.NewReader(b), int64(len(b)), durable.DigestOf(b)))
}

// blob reads a blob.
func (f *fixture) blob(place string) ([]byte, error) {
	b, err := f.Open(place)
	if err != nil {
		return nil, err
	}
	all, err := io.ReadAll(b)
	return all, errors.Join(err, b.Close())
}

// places returns the blobs that List names, with their sizes.
func (f *fixture) places() map[string]int64 {
	f.Helper()
	all := map[string]int64{}
	f.ok(f.List(func(place string, size int64) bool {
		all[place] = size
		return true
	}))
	return all
}

func blobsAreKept(f *fixture) {
	large := bytes.Repeat([]byte("0123456789abcdef"), 20_000) // more than the pieces of a digest
	f.keep("wf/1/task/1", large)
	f.keep("empty", nil)
	f.keep("twice", []byte("first"))
	f.keep("twice", []byte("second"))
	f.keep("deleted", []byte("x"))
	f.ok(f.Delete("deleted"))
	f.ok(f.Delete("deleted"))
	f.ok(f.Delete("unknown"))
	_, err := f.Open("deleted")
	f.is(err, durable.ErrNotFound)
	b, err := f.Open("wf/1/task/1")
	f.ok(err)
	same(f, "size", b.Size, int64(len(large)))
	same(f, "digest", b.Digest, durable.DigestOf(large))
	f.ok(f.Delete("wf/1/task/1")) // what is open can be read to its end
	all, err := io.ReadAll(b)
	f.ok(err)
	same(f, "a blob that was deleted while it was open", bytes.Equal(all, large), true)
	f.ok(b.Close())
	f.keep("wf/1/task/1", large)
	f.crash()
	for place, want := range map[string][]byte{"wf/1/task/1": large, "empty": {}, "twice": []byte("second")} {
		got, err := f.blob(place)
		f.ok(err)
		same(f, place, bytes.Equal(got, want), true)
	}
	same(f, "places", f.places(), map[string]int64{"wf/1/task/1": int64(len(large)), "empty": 0, "twice": 6})
	n := 0
	f.ok(f.List(func(string, int64) bool { n++; return false }))
	same(f, "places until f has enough", n, 1)
}

func blobsAreChecked(f *fixture) {
	b := []byte("the bytes of a checkpoint")
	digest, size := durable.DigestOf(b), int64(len(b))
	f.keep("p", []byte("old"))
	f.is(f.Put("p", bytes.NewReader(b), size+1, digest), durable.ErrMismatch)
	f.is(f.Put("p", bytes.NewReader(b), size-1, digest), durable.ErrMismatch)
	f.is(f.Put("p", bytes.NewReader(b), size, phalanx.Digest{1}), durable.ErrMismatch)
	f.is(f.Put("p", bytes.NewReader(b), -1, digest), durable.ErrInvalid)
	broken := errors.New("the object is lost")
	f.is(f.Put("p", failing{broken}, size, digest), broken)
	got, err := f.blob("p")
	f.ok(err)
	same(f, "the blob after Puts that failed", string(got), "old")
	same(f, "places after Puts that failed", f.places(), map[string]int64{"p": 3})
	for _, place := range []string{"p", "large"} {
		f.keep("large", bytes.Repeat(b, 10_000))
		f.bed.Corrupt(place)
		if _, err := f.blob(place); !errors.Is(err, durable.ErrCorrupt) || !errors.Is(err, phalanx.ErrCorrupt) {
			f.Errorf("reading changed bytes: %v", err)
		}
	}
}

func placesStayInside(f *fixture) {
	good := []string{"a", "A", ".", "..", "../../x", "/etc/passwd", ".tmp-1", "%2e", "a%b", "a b", "\x00", "ä", "con", `a\b`, "-"}
	for _, place := range good {
		f.keep(place, []byte(place))
	}
	same(f, "number of places", len(f.places()), len(good))
	f.crash()
	for _, place := range good {
		got, err := f.blob(place)
		f.ok(err)
		same(f, "the blob of "+place, string(got), place)
		if _, ok := f.places()[place]; !ok {
			f.Errorf("List does not name %q: %v", place, f.places())
		}
	}
	for _, place := range []string{"", "\xff", strings.Repeat("x", 300), strings.Repeat("/", 100)} {
		f.is(f.Put(place, strings.NewReader(""), 0, durable.DigestOf(nil)), durable.ErrInvalid)
		_, err := f.Open(place)
		f.is(err, durable.ErrInvalid)
		f.is(f.Delete(place), durable.ErrInvalid)
	}
}

func reserveIsKept(f *fixture) {
	f.begin()
	f.keep("before", []byte("b"))
	f.bed.Full(true)
	s, err := f.Space()
	f.ok(err)
	f.is(s.Fits(0), durable.ErrNoSpace)
	f.is(s.Fits(0), phalanx.ErrNoSpace)
	f.is(f.Put("p", strings.NewReader("b"), 1, durable.DigestOf([]byte("b"))), durable.ErrNoSpace)
	f.write(runs("what runs goes on"))
	f.ok(f.Remember([]string{"a:1"}))
	got, err := f.blob("before")
	f.ok(err)
	same(f, "a blob on a full disk", string(got), "b")
	f.bed.Full(false)
	s, err = f.Space()
	f.ok(err)
	f.ok(s.Fits(1))
	f.keep("p", []byte("b"))
}

// Puts at the same time share what is free beside the reserve.
func reserveIsShared(f *fixture) {
	space, err := f.Space()
	f.ok(err)
	most := int64(space.Free - space.Reserve())
	slow, feed := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- f.Put("slow", slow, most-10, phalanx.Digest{}) }()
	_, err = feed.Write([]byte("b")) // it was let in
	f.ok(err)
	f.is(f.Put("p", strings.NewReader("elevenbytes"), 11, durable.DigestOf([]byte("elevenbytes"))), durable.ErrNoSpace)
	f.is(f.Put("p", strings.NewReader(""), math.MaxInt64, phalanx.Digest{}), durable.ErrNoSpace)
	f.keep("p", []byte("nine byte"))
	f.ok(feed.Close())
	f.is(<-ended, durable.ErrMismatch)
	f.keep("p", []byte("elevenbytes"))
}
