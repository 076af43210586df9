package durable_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/storenode/dataplane"
)

// A blob's digest is that of the object it was written from.
func TestDigestIsTheObjects(t *testing.T) {
	const piece = dataplane.PieceSize
	b := bytes.Repeat([]byte("0123456789a"), 3*piece/11+1)
	for _, n := range []int{0, 1, piece - 1, piece, piece + 1, 2 * piece, 3 * piece} {
		if got, want := durable.DigestOf(b[:n]), dataplane.DigestBytes(b[:n]); got != want {
			t.Errorf("%d bytes: %s, want %s", n, got, want)
		}
		var d durable.Digester
		for i := 0; i < n; i += 1000 {
			_, _ = d.Write(b[i:min(n, i+1000)])
		}
		if d.Sum() != dataplane.DigestBytes(b[:n]) {
			t.Errorf("%d bytes in parts have another digest", n)
		}
	}
}

func TestEachPlaceHasItsOwnFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		place := rapid.String().Draw(t, "place")
		name, err := durable.FileName(place)
		if err != nil {
			if !errors.Is(err, durable.ErrInvalid) || place != "" && len(place) < 80 {
				t.Fatalf("%q: %v", place, err)
			}
			return
		}
		if len(name) > durable.MaxFileName || name[0] == '.' || name != strings.ToLower(name) || strings.ContainsAny(name, "/\\:\x00 ") {
			t.Errorf("the file of %q is %q", place, name)
		}
		if back, ok := durable.Place(name); !ok || back != place {
			t.Errorf("the place of %q is %q, want %q", name, back, place)
		}
	})
	for _, name := range []string{"", ".tmp-1-1", "A", "%", "%4", "%zz", "%61", "a/b", "%FF", "%ff"} {
		if place, ok := durable.Place(name); ok {
			t.Errorf("the file %q has the place %q", name, place)
		}
	}
}

// 1 GB or 5 % stay free, whichever is more.
func TestReserve(t *testing.T) {
	const gb = 1_000_000_000
	for _, c := range []struct {
		free, total uint64
		size        int64
		fits        bool
	}{
		{gb, 10 * gb, 0, true}, {gb - 1, 10 * gb, 0, false}, {2 * gb, 10 * gb, gb, true}, {2 * gb, 10 * gb, gb + 1, false},
		{5 * gb, 100 * gb, 0, true}, {5*gb - 1, 100 * gb, 0, false}, {6 * gb, 100 * gb, gb, true}, {6 * gb, 100 * gb, gb + 1, false},
	} {
		err := durable.Space{Free: c.free, Total: c.total}.Fits(c.size)
		if c.fits != (err == nil) || err != nil && !errors.Is(err, durable.ErrNoSpace) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestOpenErrorSaysWhatToDo(t *testing.T) {
	cause := errors.New("disk 5")
	err := error(&durable.OpenError{Dir: "/data", Problem: durable.ErrDamaged, Cause: cause})
	for _, want := range []error{durable.ErrDamaged, phalanx.ErrCorrupt, cause} {
		if !errors.Is(err, want) {
			t.Errorf("%v is not %v", err, want)
		}
	}
	if want := "/data: the folder is corrupt: remove it and start with an empty one; the other disks have what it held (disk 5)"; err.Error() != want {
		t.Errorf("the error is %q, want %q", err, want)
	}
	if err := (&durable.OpenError{Dir: "/data", Problem: durable.ErrLocked}); !errors.Is(err, durable.ErrLocked) || strings.Contains(err.Error(), "nil") {
		t.Errorf("the error is %q", err)
	}
}

// What an Encoder has written comes back, in whatever portions it arrives.
func TestRowsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.MapOf(rapid.String(), rapid.SliceOfN(rapid.Byte(), 0, 300)).Draw(t, "rows")
		e, b := durable.NewEncoder(7, 8)
		var want []string
		for _, key := range slices.Sorted(maps.Keys(rows)) {
			b = e.Row(b, []byte(key), rows[key])
			want = append(want, fmt.Sprintf("%q %x", key, rows[key]))
		}
		b = e.End(b)
		var got []string
		index, term, err := durable.Decode(iotest.OneByteReader(bytes.NewReader(b)), func(key, value []byte) error {
			got = append(got, fmt.Sprintf("%q %x", key, value))
			return nil
		})
		if err != nil || index != 7 || term != 8 || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("index %d, term %d, rows %v, want %v: %v", index, term, got, want, err)
		}
	})
}

// The sum of what a stream can make its receiver take is bounded, and no stream makes it panic.
func FuzzDecode(f *testing.F) {
	e, b := durable.NewEncoder(1, 2)
	f.Add(e.End(e.Row(b, []byte("key"), []byte("value"))))
	f.Add([]byte("phxrows1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		read := 0
		_, _, err := durable.Decode(bytes.NewReader(b), func(key, value []byte) error {
			read += len(key) + len(value)
			return nil
		})
		if read > len(b) || err == nil && len(b) < 41 {
			t.Errorf("%d bytes gave %d: %v", len(b), read, err)
		}
	})
}

// The keys of a snapshot rise: a sender that repeats one is not believed, though its digest is right.
func TestKeysRise(t *testing.T) {
	for _, second := range []string{"k", "j"} {
		e, b := durable.NewEncoder(1, 1)
		b = e.Row(e.Row(b, []byte("k"), nil), []byte(second), nil)
		_, _, err := durable.Decode(bytes.NewReader(e.End(b)), func(_, _ []byte) error { return nil })
		if !errors.Is(err, durable.ErrMismatch) {
			t.Errorf("%q after k: %v", second, err)
		}
	}
}

// The error of a folder says each thing once, also if the cause wraps the problem.
func TestOpenErrorSaysThingsOnce(t *testing.T) {
	for _, c := range []struct {
		cause error
		want  string
	}{
		{nil, "d: " + durable.ErrLocked.Error()},
		{durable.ErrLocked, "d: " + durable.ErrLocked.Error()},
		{fmt.Errorf("%w: %w", durable.ErrLocked, errors.New("why")), "d: " + durable.ErrLocked.Error() + " (why)"},
		{errors.New("why"), "d: " + durable.ErrLocked.Error() + " (why)"},
	} {
		e := &durable.OpenError{Dir: "d", Problem: durable.ErrLocked, Cause: c.cause}
		if e.Error() != c.want || !errors.Is(e, durable.ErrLocked) {
			t.Errorf("%q, want %q", e, c.want)
		}
	}
}
