package httpapi

import (
	"strconv"
	"strings"
)

// span is the bytes from (included) to (excluded).
type span struct{ from, to int64 }

// parseRange returns which part of size bytes the header asks for. A header that
// is none of the forms "bytes=a-b", "a-" and "-n" asks for everything, as HTTP
// allows. It is not ok if nothing of the range exists.
func parseRange(header string, size int64) (part span, partial, ok bool) {
	all := span{0, size}
	ranges, found := strings.CutPrefix(header, "bytes=")
	if !found {
		return all, false, true
	}
	first, last, found := strings.Cut(strings.TrimSpace(ranges), "-")
	if !found {
		return all, false, true
	}
	from, err1 := strconv.ParseUint(first, 10, 63)
	to, err2 := strconv.ParseUint(last, 10, 63)
	switch {
	case first == "" && err2 == nil: // the last bytes
		n := min(int64(to), size)
		return span{size - n, size}, true, n > 0
	case err1 != nil:
		return all, false, true
	case last == "":
		return span{int64(from), size}, true, int64(from) < size
	case err2 != nil || to < from:
		return all, false, true
	}
	return span{int64(from), min(int64(to), size-1) + 1}, true, int64(from) < size
}
