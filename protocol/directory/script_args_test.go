package directory_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/directory"
)

// script is one command with its arguments.
type script struct {
	t *testing.T
	d *datadriven.TestData
}

func (s script) has(key string) bool {
	return slices.ContainsFunc(s.d.CmdArgs, func(a datadriven.CmdArg) bool { return a.Key == key })
}

func (s script) word(i int) string {
	if i >= len(s.d.CmdArgs) {
		s.d.Fatalf(s.t, "%s needs more arguments", s.d.Cmd)
	}
	return s.d.CmdArgs[i].Key
}

func (s script) str(key string) string {
	for _, a := range s.d.CmdArgs {
		if a.Key == key && len(a.Vals) > 0 {
			return a.Vals[0]
		}
	}
	return ""
}

func (s script) nodes(key string) (out []phalanx.NodeID) {
	for _, a := range s.d.CmdArgs {
		if a.Key == key {
			for _, v := range a.Vals {
				out = append(out, phalanx.NodeID(v))
			}
		}
	}
	return out
}

func (s script) int(key string, otherwise int64) int64 {
	v := s.str(key)
	if v == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		s.d.Fatalf(s.t, "%s: %v", key, err)
	}
	return n
}

func (s script) pair(key string) (epoch, seq uint64) {
	if v := s.str(key); v != "" {
		if _, err := fmt.Sscanf(v, "%d.%d", &epoch, &seq); err != nil {
			s.d.Fatalf(s.t, "%s: %v", key, err)
		}
	}
	return epoch, seq
}

func (s script) gen(key string) phalanx.Generation {
	e, q := s.pair(key)
	return phalanx.Generation{Epoch: e, Seq: q}
}

func (s script) lease(key string) uint64 {
	e, q := s.pair(key)
	return e<<32 | q
}

func (s script) digest() (d phalanx.Digest) {
	copy(d[:], s.str("digest"))
	return d
}

func (s script) meta() phalanx.Meta {
	m := phalanx.Meta{Size: s.int("size", 3)}
	if t := s.str("dtype"); t != "" {
		m.DType, _ = phalanx.ParseDType(t)
		m.Shape = []int64{m.Size / m.DType.Size()}
	}
	return m
}

func (s script) duration(text string) time.Duration {
	v, err := time.ParseDuration(text)
	if err != nil {
		s.d.Fatalf(s.t, "%v", err)
	}
	return v
}

// body reads a request's body from the command's name and arguments.
func (s script) body() directory.Body {
	switch s.d.Cmd {
	case "begin":
		b := directory.Begin{Meta: s.meta(), Copies: int(s.int("copies", 0)), Replace: s.gen("replace"), Tag: s.str("tag"), Run: uint64(s.int("run", 0)), After: s.gen("after")}
		if b.Tag != "" {
			b.Maker = directory.ByReduce
		}
		return b
	case "inline":
		bytes := s.str("bytes")
		return directory.PutInline{Meta: phalanx.Meta{Size: s.int("size", int64(len(bytes)))}, Digest: s.digest(), Bytes: []byte(bytes), Gen: s.gen("gen"),
			Tag: s.str("tag"), Held: !s.has("unheld"), Copies: int(s.int("copies", 0)), After: s.gen("after")}
	case "final":
		return directory.Final{Gen: s.gen("gen"), Meta: s.meta(), Digest: s.digest(), Note: []byte(s.str("note")), Held: !s.has("unheld") && !s.has("root"), At: phalanx.NodeID(s.str("root")), View: uint64(s.int("view", 0))}
	case "abort":
		return directory.Abort{Gen: s.gen("gen"), Run: uint64(s.int("run", 0))}
	case "restart":
		return directory.Restart{Gen: s.gen("gen"), Run: uint64(s.int("run", 0))}
	case "delete":
		if s.has("ask") {
			return directory.Delete{}
		}
		if s.has("gen") {
			return directory.Delete{Gen: s.gen("gen")}
		}
		return directory.Delete{Gen: phalanx.Generation{Epoch: math.MaxUint64}} // whatever there is
	case "announce":
		return directory.Announce{Gen: s.gen("gen"), Complete: s.has("complete"), Pinned: s.has("pinned"), Origin: s.has("origin"), Begun: s.has("begun"),
			Retiring: s.has("retiring"), Meta: phalanx.Meta{Size: s.int("makes", 0)}}
	case "await":
		return directory.AwaitCopies{Gen: s.gen("gen"), Copies: int(s.int("copies", 0)), Leaving: uint64(s.int("leaving", 0))}
	case "corrupt":
		return directory.Corrupt{Gen: s.gen("gen"), Digest: s.digest()}
	case "checked":
		return directory.Checked{Gen: s.gen("gen"), Digest: s.digest()}
	case "slow":
		return directory.Slow{Lease: s.lease("lease")}
	case "locate":
		return directory.Locate{Room: s.int("room", 1<<20), Wait: !s.has("nowait"), Down: s.int("down", 0), Failed: s.lease("failed")}
	case "cancel":
		return directory.Cancel{Num: uint64(s.int("of", 0))}
	case "done":
		return directory.Done{Lease: s.lease("lease"), Gen: s.gen("gen"), Complete: s.has("complete"), Rate: s.int("rate", 0)}
	case "failed":
		return directory.Failed{Lease: s.lease("lease"), Reason: s.str("reason")}
	case "watch":
		return directory.Watch{}
	case "stat":
		return directory.Stat{}
	case "evict":
		return directory.Evict{Gen: s.gen("gen")}
	case "drop":
		return directory.Drop{Gen: s.gen("gen"), Granted: s.has("granted")}
	case "list":
		return directory.List{Prefix: s.str("prefix"), After: phalanx.ObjectID(s.str("after")), Limit: int(s.int("limit", 0))}
	}
	s.d.Fatalf(s.t, "unknown command %s", s.d.Cmd)
	return nil
}

// holding reads the copy that a node reports.
func (s script) holding() directory.Holding {
	return directory.Holding{Object: phalanx.ObjectID(s.word(1)), Gen: s.gen("gen"), Meta: s.meta(), Digest: s.digest(), Complete: s.has("complete"),
		Pinned: s.has("pinned"), Origin: s.has("origin"), Begun: s.has("begun"), Lease: s.lease("lease"), Upstream: phalanx.NodeID(s.str("upstream")),
		Copies: int(s.int("copies", 0)), Tag: s.str("tag"), Note: []byte(s.str("note"))}
}
