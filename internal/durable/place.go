package durable

import (
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxFileName is the length of the longest name of a blob's file, in bytes. File systems take 255.
const MaxFileName = 240

// FileName returns the name of the file of the blob under place. Each place has its own, on file
// systems that do not tell capital letters apart, too. The name has no separator and begins with a
// letter, a digit or '%', so that no place leads out of the folder or to a temporary file. It is
// ErrInvalid if place is empty, not UTF-8, or too long.
func FileName(place string) (string, error) {
	if place == "" || len(place) > MaxFileName || !utf8.ValidString(place) {
		return "", fmt.Errorf("%w: a place has 1 to %d bytes of UTF-8, not %q", ErrInvalid, MaxFileName, head(place))
	}
	var b strings.Builder
	for i := range len(place) {
		if c := place[i]; plain(c) || i > 0 && (c == '-' || c == '_' || c == '.') {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	if b.Len() > MaxFileName {
		return "", fmt.Errorf("%w: the file name of the place %q would have %d bytes; %d are allowed", ErrInvalid, place, b.Len(), MaxFileName)
	}
	return b.String(), nil
}

// Place returns the place that FileName has made name of, or false if it has not.
func Place(name string) (string, bool) {
	var b strings.Builder
	for rest := name; rest != ""; {
		if rest[0] != '%' {
			b.WriteByte(rest[0])
			rest = rest[1:]
			continue
		}
		if len(rest) < 3 {
			return "", false
		}
		one, err := hex.DecodeString(rest[1:3])
		if err != nil {
			return "", false
		}
		b.Write(one)
		rest = rest[3:]
	}
	again, err := FileName(b.String())
	return b.String(), err == nil && again == name
}

func plain(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }

// head returns the beginning of a place, for an error.
func head(place string) string { return place[:min(len(place), 64)] }
