package conformance

import (
	"bytes"
	"strings"

	"github.com/phalanx-go/phalanx/internal/durable"
	"github.com/phalanx-go/phalanx/protocol/ledger"
)

func failedSyncPoisons(f *fixture) {
	f.begin()
	f.ok(f.Join("c"))
	f.write(ledger.Write{Rows: puts("acknowledged", "1")})
	same(f, "Err", f.Err(), nil)
	f.bed.Fail()
	f.is(f.try(ledger.Write{Rows: puts("first", "x"), Sync: true}), durable.ErrPoisoned)
	// The file system says from now on that all is well.
	f.is(f.try(ledger.Write{Rows: puts("second", "x"), Sync: true}), durable.ErrPoisoned)
	f.is(f.try(ledger.Write{Rows: puts("third", "x")}), durable.ErrPoisoned)
	<-f.Failed()
	f.is(f.Err(), durable.ErrPoisoned)
	_, _, err := f.Get("acknowledged")
	f.is(err, durable.ErrPoisoned)
	f.is(f.Scan("", func(ledger.Row) bool { return true }), durable.ErrPoisoned)
	_, err = f.State()
	f.is(err, durable.ErrPoisoned)
	_, err = f.take()
	f.is(err, durable.ErrPoisoned)
	_, err = f.Begin()
	f.is(err, durable.ErrPoisoned)
	f.is(f.Remember([]string{"a:1"}), durable.ErrPoisoned)
	f.is(f.SawBoot(1), durable.ErrPoisoned)
	f.is(f.Receive(1, bytes.NewReader(nil)), durable.ErrPoisoned)
	f.is(f.Put("p", strings.NewReader("b"), 1, durable.DigestOf([]byte("b"))), durable.ErrPoisoned)
	_, err = f.Open("p")
	f.is(err, durable.ErrPoisoned)
	f.is(f.Delete("p"), durable.ErrPoisoned)
	f.is(f.List(func(string, int64) bool { return true }), durable.ErrPoisoned)
	f.is(f.Store.Close(), durable.ErrPoisoned)
	f.crash()
	same(f, "what was acknowledged", f.rows("acknowledged"), []string{"acknowledged", "1"})
}

func closedStoreAnswers(f *fixture) {
	f.begin()
	s, err := f.take()
	f.ok(err)
	answers := make(chan error, 100)
	for range cap(answers) {
		f.Apply(ledger.Write{Rows: puts("k", "v")}, func(err error) { answers <- err })
	}
	f.ok(f.Store.Close())
	f.ok(f.Store.Close())
	for range cap(answers) { // none is missing
		if err := <-answers; err != nil {
			f.is(err, durable.ErrClosed)
		}
	}
	f.is(f.try(ledger.Write{Rows: puts("k", "v")}), durable.ErrClosed)
	_, _, err = f.Get("k")
	f.is(err, durable.ErrClosed)
	_, err = s.WriteTo(&bytes.Buffer{})
	f.is(err, durable.ErrClosed)
	f.ok(s.Close())
	f.is(f.SawBoot(1), durable.ErrClosed)
	f.is(f.Put("p", strings.NewReader("b"), 1, durable.DigestOf([]byte("b"))), durable.ErrClosed)
	f.is(f.Err(), nil)
}
