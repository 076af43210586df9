package messages

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/node/ledger"
	core "github.com/phalanx-go/phalanx/protocol/ledger"
)

// A hello comes back as it was, whatever fields it gets.
func TestLedgerHello(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := anyOf[ledger.Hello]().Draw(t, "hello")
		h.Address, h.Disk = "a:1", h.Disk>>16
		h.Lead.Term, h.Boot, h.View = h.Lead.Term>>2, h.Boot>>2, h.View>>2
		h.Replica = h.Disk<<16 | h.Replica&0xffff
		for i := range h.Replicas {
			h.Replicas[i] = ledger.Place{Replica: h.Replicas[i].Replica | 1, Address: "b:2"}
		}
		h.Replicas, h.Voters, h.Wanted = h.Replicas[:min(len(h.Replicas), ledger.MaxPlaces)], h.Voters[:min(len(h.Voters), ledger.MaxPlaces)], h.Wanted[:min(len(h.Wanted), ledger.MaxPlaces)]
		b, err := proto.Marshal(LedgerHelloToProto(h))
		if err != nil {
			t.Fatal(err)
		}
		m := &LedgerHello{}
		if err := proto.Unmarshal(b, m); err != nil {
			t.Fatal(err)
		}
		got, err := LedgerHelloFromProto(m)
		if err != nil || !reflect.DeepEqual(normal(reflect.ValueOf(got)).Interface(), normal(reflect.ValueOf(h)).Interface()) {
			t.Errorf("%+v came back as %+v: %v", h, got, err)
		}
	})
}

// A message that breaks a limit is refused.
func TestLedgerLimits(t *testing.T) {
	long := strings.Repeat("x", maxLedgerText+1)
	many := make([]uint64, ledger.MaxPlaces+1)
	for i, m := range []*LedgerHello{
		{}, {Address: long}, {Address: "a", Node: long}, {Address: "a", Host: long}, {Address: "a", LeadAddress: long}, {Address: "a", Voters: many}, {Address: "a", Wanted: many},
		{Address: "a", LeadTerm: 1<<62 + 1}, {Address: "a", Boot: 1<<62 + 1}, {Address: "a", View: 1<<62 + 1},
		{Address: "a", Disk: 1 << 48}, {Address: "a", Disk: 1, Replica: 1}, {Address: "a", Replicas: []*LedgerPlace{{Replica: 1}}}, {Address: "a", Replicas: []*LedgerPlace{nil}},
	} {
		if _, err := LedgerHelloFromProto(m); !errors.Is(err, phalanx.ErrInternal) {
			t.Errorf("hello %d: %v", i, err)
		}
	}
	for i, err := range []error{
		CheckLedgerLetter(&LedgerLetter{}), CheckLedgerLetter(&LedgerLetter{Address: long}), CheckLedgerLetter(&LedgerLetter{Address: "a", Data: make([]byte, MaxLedgerLetter+1)}),
		CheckLedgerRows(&LedgerRows{}), CheckLedgerRows(&LedgerRows{Stream: 1, Last: true}), CheckLedgerRows(&LedgerRows{Stream: 1, Data: []byte{1}}), CheckLedgerRows(&LedgerRows{Stream: 1, Rows: make([]byte, MaxLedgerRows+1)}),
	} {
		if !errors.Is(err, phalanx.ErrInternal) {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// A record comes back; what cannot be one is refused.
func TestLedgerRecord(t *testing.T) {
	r := core.Record{Number: 3, Node: "n", Address: "a:1"}
	if got, err := UnmarshalLedgerRecord(MarshalLedgerRecord(r)); got != r || err != nil {
		t.Errorf("%+v: %v", got, err)
	}
	for _, b := range [][]byte{nil, {0xff}, MarshalLedgerRecord(core.Record{Number: 1<<62 + 1}), MarshalLedgerRecord(core.Record{Number: 1, Node: strings.Repeat("x", maxLedgerText+1)})} {
		if _, err := UnmarshalLedgerRecord(b); !errors.Is(err, phalanx.ErrInternal) {
			t.Errorf("%x: %v", b, err)
		}
	}
}
