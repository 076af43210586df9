package phalanx

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxIDBytes is the length of the longest ObjectID, in bytes.
const MaxIDBytes = 256

// ObjectID names an object: 1 to MaxIDBytes bytes of printable UTF-8.
type ObjectID string

// Validate returns an ErrInvalid that says what is wrong with id, or nil.
func (id ObjectID) Validate() error {
	switch {
	case id == "":
		return &Error{Kind: ErrInvalid, Err: fmt.Errorf("the object id is empty")}
	case len(id) > MaxIDBytes:
		return &Error{Kind: ErrInvalid, Object: id[:16] + "…", Err: fmt.Errorf("the object id has %d bytes, at most %d are allowed", len(id), MaxIDBytes)}
	case !utf8.ValidString(string(id)):
		return &Error{Kind: ErrInvalid, Object: ObjectID(strings.ToValidUTF8(string(id), "?")), Err: fmt.Errorf("the object id is not valid UTF-8")}
	}
	for i, r := range string(id) {
		if !unicode.IsPrint(r) {
			return &Error{Kind: ErrInvalid, Object: ObjectID(strings.Trim(fmt.Sprintf("%+q", string(id)), `"`)), Err: fmt.Errorf("the object id has the unprintable character %U at byte %d", r, i)}
		}
	}
	return nil
}

// Shard returns which of n directory shards owns id, by FNV-1a.
func (id ObjectID) Shard(n int) int {
	h := uint64(14695981039346656037)
	for i := 0; i < len(id); i++ {
		h = (h ^ uint64(id[i])) * 1099511628211
	}
	return int((h ^ h>>32) % uint64(n))
}

// NodeID names one incarnation of a node, as "name#incarnation"; a node that
// comes back has a new NodeID.
type NodeID string

// MakeNodeID returns the id of the given life of the member name.
func MakeNodeID(name string, incarnation uint64) NodeID {
	return NodeID(fmt.Sprintf("%s#%x", name, incarnation))
}

// Name returns the part of n that all incarnations share.
func (n NodeID) Name() string {
	name, _, _ := strings.Cut(string(n), "#")
	return name
}
