package disk

import (
	"encoding/binary"
	"math"
)

// Pebble has three spaces of keys: what the folder and the replica are, the entries of the log by index,
// and rows. Rows have the number of their set before their key, so that those of a stream lie beside
// the current ones until they are installed.
const (
	metaSpace  = 'm'
	entrySpace = 'e'
	rowSpace   = 'r'
)

// The keys of metaSpace.
var (
	keyDisk       = []byte("mdisk")       // id
	keyOpens      = []byte("mopens")      // how often the folder was opened
	keyCluster    = []byte("mcluster")    // id
	keyMembers    = []byte("mmembers")    // addresses, as JSON
	keyBoot       = []byte("mboot")       // greatest number
	keyGeneration = []byte("mgeneration") // of the ledger, the greatest that was heard of
	keyNumber     = []byte("mnumber")     // of the replica
	keyRows       = []byte("mrows")       // number of the current set of rows
	keyApplied    = []byte("mapplied")    // index
	keyBase       = []byte("mbase")       // index and term of the last snapshot that was installed
	keyHard       = []byte("mhard")       // raftpb.HardState
	keyConf       = []byte("mconf")       // raftpb.ConfState
)

func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func entryKey(index uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{entrySpace}, index)
}

// rowKey is the key of a row; set is the number of its set.
func rowKey(set uint64, key string) []byte {
	b := make([]byte, 0, 9+len(key))
	b = binary.BigEndian.AppendUint64(append(b, rowSpace), set)
	return append(b, key...)
}

// setEnd is greater than the keys of all rows of a set.
func setEnd(set uint64) []byte {
	if set == math.MaxUint64 {
		return []byte{rowSpace + 1}
	}
	return rowKey(set+1, "")
}

// after returns the least key that is greater than all that begin with prefix. A prefix here begins with
// the letter of a space, so that there is one.
func after(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; ; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
}
