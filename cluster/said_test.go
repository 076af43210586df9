package cluster

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/actors"
)

func TestTheSameIsSaidOnceAMinute(t *testing.T) {
	var s said
	for now := range 3 * time.Minute / time.Second {
		if is, want := s.news("x", now*time.Second), now%60 == 0; is != want {
			t.Errorf("after %d seconds: %v", now, is)
		}
	}
}

// Many that differ are not said either, and not remembered.
func TestWhatIsSaidIsBounded(t *testing.T) {
	var s said
	n := 0
	for i := range 10 * saidMax {
		if s.news(fmt.Sprint(i), time.Second) {
			n++
		}
	}
	if n != saidMax || len(s.last) != saidMax {
		t.Errorf("%d are said, %d remembered", n, len(s.last))
	}
	if !s.news("later", time.Second+saidFor) || len(s.last) != 1 {
		t.Errorf("after a minute %d are remembered", len(s.last))
	}
}

// Each request waits under another name for its answer: where answers are too long, that
// is one mistake.
func TestAnswersThatCannotBeSentAreOneText(t *testing.T) {
	n, err := Join(t.Context(), Config{Memory: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	told := 0
	n.system.EventStream.Subscribe(func(ev any) {
		if _, is := ev.(actors.MessageUnsendable); is {
			told++
		}
	})
	for i := range 10 {
		n.unsendable(fmt.Sprintf("127.0.0.1:1/answer$%d", i), "message", errors.New("too long"))
	}
	if told != 1 {
		t.Errorf("it is told %d times", told)
	}
}
