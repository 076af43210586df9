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

// deaf is a disk of which nothing can be read.
type deaf struct {
	durable.Store
	hangs chan struct{}
}

func (deaf) Identity() durable.Identity { return durable.Identity{} }
func (deaf) Remembered() []string       { return nil }
func (d deaf) State() (core.State, error) {
	<-d.hangs
	return core.State{}, durable.ErrClosed
}

// A replica that begins does not wait for a disk of which nothing can be read.
func TestADiskOfWhichNothingCanBeReadIsNotAwaited(t *testing.T) {
	for _, writes := range []bool{false, true} { // it has carried out what it was given
		synctest.Test(t, func(t *testing.T) {
			hangs := make(chan struct{})
			k, err := New(Settings{Store: deaf{hangs: hangs}})
			if err != nil {
				t.Fatal(err)
			}
			answered := make(chan struct{})
			if writes {
				close(answered)
			}
			began := time.Now()
			if _, err := k.read(answered); time.Since(began) != diskWait || err == nil || !strings.Contains(err.Error(), "has not answered for 1m0s when asked to read") {
				t.Errorf("after %v: %v", time.Since(began), err)
			}
			k.over()
			close(hangs)
		})
	}
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
