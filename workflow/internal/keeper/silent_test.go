package keeper

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/phalanx-go/phalanx/internal/durable"
	core "github.com/phalanx-go/phalanx/protocol/ledger"
)

// hanging is a disk that answers nothing.
type hanging struct{ durable.Store }

func (hanging) Apply(core.Write, func(error)) {}

// A write that the disk does not answer fails after a minute, and says what to look at.
func TestADiskThatHangsIsNotAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, err := New(Settings{Store: hanging{}})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		err = (&instance{k: k}).apply(core.Write{})
		if took := time.Since(began); took != diskWait || err == nil || !strings.Contains(err.Error(), "the disk of the folder has not answered for 1m0s") {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

// An actor that ends does not wait for long for what runs beside it, and says what it is.
func TestTheEndNamesWhatGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, err := New(Settings{})
		if err != nil {
			t.Fatal(err)
		}
		answers := make(chan struct{})
		for _, what := range []string{"read its state", "begin a replica", "begin a replica"} {
			k.beside(what, func() { <-answers })
		}
		k.beside("send a snapshot", func() {})
		synctest.Wait()
		began := time.Now()
		if left := k.await(endWait); time.Since(began) != endWait || !slices.Equal(left, []string{"begin a replica", "read its state"}) {
			t.Errorf("after %v: %q", time.Since(began), left)
		}
		close(answers)
		if left := k.await(endWait); left != nil || time.Since(began) != endWait {
			t.Errorf("after %v: %q", time.Since(began), left)
		}
	})
}
