package transfer_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/protocol/transfer"
)

// TestScripts replays testdata/*; run with -rewrite, then read the diff.
//
// "get" makes a Receiver, "put" a Creator; the events that follow go to it. A
// lease is written epoch.sequence, a digest as the text that fills it.
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			w := &world{}
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				w.out.Reset()
				w.run(script{t, d})
				if w.out.Len() == 0 {
					return "ok\n"
				}
				return w.out.String()
			})
		})
	}
}

// script is one command with its arguments.
type script struct {
	t *testing.T
	d *datadriven.TestData
}

func (s script) has(key string) bool {
	return slices.ContainsFunc(s.d.CmdArgs, func(a datadriven.CmdArg) bool { return a.Key == key })
}

func (s script) str(key string) string {
	for _, a := range s.d.CmdArgs {
		if a.Key == key && len(a.Vals) > 0 {
			return a.Vals[0]
		}
	}
	return ""
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

func (s script) gen() phalanx.Generation { return s.generation("gen") }

func (s script) generation(key string) (g phalanx.Generation) {
	if v := s.str(key); v != "" {
		if _, err := fmt.Sscanf(v, "%d.%d", &g.Epoch, &g.Seq); err != nil {
			s.d.Fatalf(s.t, "%s: %v", key, err)
		}
	}
	return g
}

func (s script) lease() uint64 {
	var e, q uint64
	if v := s.str("lease"); v != "" {
		if _, err := fmt.Sscanf(v, "%d.%d", &e, &q); err != nil {
			s.d.Fatalf(s.t, "lease: %v", err)
		}
	}
	return e<<32 | q
}

func (s script) digest() (d phalanx.Digest) {
	copy(d[:], s.str("digest"))
	return d
}

func (s script) kind(key string) phalanx.Kind {
	for _, k := range phalanx.Kinds() {
		if strings.ReplaceAll(k.Error(), " ", "-") == s.str(key) {
			return k
		}
	}
	return 0
}

func (s script) err() *phalanx.Error {
	k := s.kind("kind")
	if k == 0 {
		k = phalanx.ErrCanceled
	}
	return &phalanx.Error{Kind: k, Err: errors.New("as the script says")}
}

func index[T fmt.Stringer](s script, text string, values ...T) T {
	for _, v := range values {
		if v.String() == text {
			return v
		}
	}
	s.d.Fatalf(s.t, "there is no %q", text)
	panic("unreachable")
}

// word is a named value of a small enumeration.
type word struct {
	name  string
	value uint8
}

func (w word) String() string { return w.name }

func (s script) state() transfer.State {
	if !s.has("state") {
		return transfer.Finished
	}
	return transfer.State(index(s, s.str("state"), word{"unbound", 0}, word{"begun", 1}, word{"final", 2}, word{"lost", 3}, word{"deleted", 4}).value)
}

// world is the core that the script drives.
type world struct {
	now      time.Duration
	receiver *transfer.Receiver
	creator  *transfer.Creator
	out      strings.Builder
}

func (w *world) run(s script) {
	switch s.d.Cmd {
	case "get":
		w.creator = nil
		w.receiver = transfer.NewReceiver(transfer.Config{Self: "r", Object: "x", Room: s.int("room", 0), FirstNum: 1})
	case "put":
		w.receiver = nil
		w.creator = transfer.NewCreator(transfer.CreatorConfig{Self: "c", Object: "x", Meta: phalanx.Meta{Size: s.int("size", 100)},
			Copies: int(s.int("copies", 0)), InlineLimit: s.int("inline", 0), FirstNum: 1})
	case "time":
		d, err := time.ParseDuration(s.d.CmdArgs[0].Key)
		if err != nil {
			s.d.Fatalf(s.t, "%v", err)
		}
		w.now += d
	case "reason":
		w.reason()
	default:
		w.step(s)
	}
}

// reason prints the text of a deadline's error.
func (w *world) reason() {
	var node phalanx.NodeID
	var text string
	if w.receiver != nil {
		node, text = w.receiver.Reason()
	} else {
		node, text = w.creator.Reason()
	}
	fmt.Fprintf(&w.out, "%s (node %q)\n", text, node)
}

func (w *world) step(s script) {
	var over bool
	if w.receiver != nil {
		ev := s.event()
		for _, e := range w.receiver.Step(w.now, ev) {
			fmt.Fprintln(&w.out, e)
		}
		over = w.receiver.Over()
	} else {
		for _, e := range w.creator.Step(w.now, s.creatorEvent()) {
			fmt.Fprintln(&w.out, e)
		}
		over = w.creator.Over()
	}
	if over {
		fmt.Fprintln(&w.out, "over")
	}
}

func (s script) answered() transfer.Answered {
	return transfer.Answered{Num: uint64(s.int("num", 0)), Kind: s.kind("kind"), Text: "as the owner says", Node: "o", Waiting: s.has("waiting"),
		State: s.state(), Gen: s.gen(), Meta: phalanx.Meta{Size: s.int("size", 100)}, Digest: s.digest(), Inline: s.has("inline"),
		Origin: phalanx.NodeID(s.str("origin")), Lease: s.lease(), Sender: phalanx.NodeID(s.str("sender")), Beside: s.has("beside")}
}

func (s script) pushed() transfer.Pushed {
	order := index(s, s.d.CmdArgs[0].Key, word{"final", 0}, word{"abort", 1}, word{"reset", 2}, word{"drop", 3})
	return transfer.Pushed{Order: transfer.Order(order.value), Gen: s.gen(), Meta: phalanx.Meta{Size: s.int("size", 100)}, Digest: s.digest()}
}

// event reads an event of a Receiver.
func (s script) event() transfer.Event {
	switch s.d.Cmd {
	case "want":
		return transfer.Want{Caller: uint64(s.int("caller", 1)), Wait: !s.has("nowait")}
	case "leave":
		return transfer.Leave{Caller: uint64(s.int("caller", 1))}
	case "downstream":
		return transfer.Downstream{Streams: int(s.int("streams", 0))}
	case "answer":
		return s.answered()
	case "reserved":
		return transfer.Reserved{Bytes: s.int("bytes", 0)}
	case "noroom":
		return transfer.NoRoom{Err: &phalanx.Error{Node: "r", Kind: phalanx.ErrNoSpace, Err: errors.New("it does not fit")}}
	case "ended":
		return transfer.Ended{Stream: uint64(s.int("stream", 0)), Gen: s.gen(), Held: s.int("held", 0),
			Why: index(s, strings.ReplaceAll(s.str("why"), "-", " "), transfer.AllSent, transfer.Superseded, transfer.Busy, transfer.Gone, transfer.Stalled,
				transfer.Broken, transfer.BadPiece, transfer.Cycle, transfer.Full)}
	case "move":
		return transfer.Move{Lease: s.lease(), Held: s.int("held", 0)}
	case "corrupted":
		return transfer.Corrupted{Gen: s.gen()}
	case "supplied":
		return transfer.Supplied{Gen: s.gen(), Meta: phalanx.Meta{Size: s.int("size", 100)}, Digest: s.digest()}
	case "whole":
		return transfer.Whole{Gen: s.gen(), Size: s.int("size", 100), Digest: s.digest(), Rate: s.int("rate", 0)}
	case "push":
		return s.pushed()
	case "listed":
		return transfer.Listed{Of: s.generation("of"), Answered: s.answered()}
	}
	s.d.Fatalf(s.t, "unknown command %s", s.d.Cmd)
	return nil
}

// creatorEvent reads an event of a Creator.
func (s script) creatorEvent() transfer.CreatorEvent {
	switch s.d.Cmd {
	case "start":
		return transfer.Start{}
	case "first":
		return transfer.FirstPiece{}
	case "filled":
		return transfer.Filled{Size: s.int("size", 100), Digest: s.digest()}
	case "stop":
		return transfer.Stop{Err: s.err()}
	case "answer":
		return s.answered()
	case "push":
		return s.pushed()
	}
	s.d.Fatalf(s.t, "unknown command %s", s.d.Cmd)
	return nil
}
