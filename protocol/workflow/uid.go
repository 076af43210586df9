package workflow

import (
	"fmt"
	"strconv"
	"strings"
)

// UID names one run for ever: an id that is used again gets another one (workflow specification 2.3). Index counts the
// runs that the controller of Epoch has started.
type UID struct{ Ledger, Epoch, Index uint64 }

// IsZero reports whether u names no run.
func (u UID) IsZero() bool { return u == UID{} }

// String returns "ledger.epoch.index", in hexadecimal, in the order in which runs were started.
func (u UID) String() string { return fmt.Sprintf("%016x.%016x.%08x", u.Ledger, u.Epoch, u.Index) }

// ParseUID is the inverse of String; false: no UID has that form.
func ParseUID(s string) (u UID, ok bool) {
	ledger, rest, _ := strings.Cut(s, ".")
	epoch, index, _ := strings.Cut(rest, ".")
	for i, part := range []string{ledger, epoch, index} {
		n, err := strconv.ParseUint(part, 16, 64)
		if err != nil {
			return UID{}, false
		}
		*[]*uint64{&u.Ledger, &u.Epoch, &u.Index}[i] = n
	}
	return u, u.String() == s
}

// compare orders runs as they were started.
func (u UID) compare(v UID) int {
	switch {
	case u.Epoch != v.Epoch:
		return order(u.Epoch, v.Epoch)
	case u.Index != v.Index:
		return order(u.Index, v.Index)
	}
	return order(u.Ledger, v.Ledger)
}

func order(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
