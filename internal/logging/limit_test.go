package logging_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"

	"github.com/phalanx-go/phalanx/internal/logging"
)

// Of many lines of one cause, ten are logged, and how many more there were. Another cause
// is another text or peer; a number in the text makes none.
func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to, hook := test.NewNullLogger()
		log := logging.Limit(to.WithField(logging.Node, "me"))
		for i := range 2000 {
			log.WithField(logging.Peer, "a").Warnf("connection %d was refused", i)
		}
		log.WithField(logging.Peer, "b").Warn("connection 7 was refused")
		log.Debug("below the level")
		if got := len(hook.AllEntries()); got != 11 {
			t.Errorf("%d lines were logged", got)
		}
		if e := hook.AllEntries()[0]; e.Level != logrus.WarnLevel || e.Message != "connection 0 was refused" || e.Data[logging.Peer] != "a" || e.Data[logging.Node] != "me" {
			t.Errorf("the first is %+v", e)
		}
		hook.Reset()
		time.Sleep(2 * time.Minute)
		if e := hook.LastEntry(); len(hook.AllEntries()) != 1 || e.Data[logging.Omitted] != 1990 || e.Data[logging.Peer] != "a" || e.Level != logrus.WarnLevel {
			t.Errorf("after that there were %d lines, the last is %+v", len(hook.AllEntries()), e)
		}
		log.Warn("connection 1 was refused")
		if len(hook.AllEntries()) != 2 {
			t.Error("it is not logged any more")
		}
		time.Sleep(2 * time.Minute)
	})
}

// Causes that somebody makes up are bounded as well.
func TestLimitOfManyCauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to, hook := test.NewNullLogger()
		log := logging.Limit(to)
		for i := range 100_000 {
			log.WithField(logging.Peer, fmt.Sprint("peer", i)).Error("a message cannot be read")
		}
		if got := len(hook.AllEntries()); got != 1010 {
			t.Errorf("%d lines were logged", got)
		}
		time.Sleep(2 * time.Minute)
		if e := hook.LastEntry(); e.Data[logging.Omitted] != 100_000-1010 {
			t.Errorf("at the end it says %+v", e)
		}
	})
}

// The level of the logger behind it counts, also if it changes.
func TestLimitFollowsTheLevel(t *testing.T) {
	to, hook := test.NewNullLogger()
	log := logging.Limit(to)
	log.Debug("before")
	to.SetLevel(logrus.DebugLevel)
	log.Debug("after")
	if got := len(hook.AllEntries()); got != 1 {
		t.Errorf("%d lines were logged", got)
	}
}

func BenchmarkLimit(b *testing.B) {
	to, _ := test.NewNullLogger()
	to.SetLevel(logrus.WarnLevel)
	log := logging.Limit(to).WithField(logging.Node, "me")
	for _, level := range []logrus.Level{logrus.DebugLevel, logrus.WarnLevel} {
		b.Run(level.String(), func(b *testing.B) {
			for b.Loop() {
				log.Log(level, "a line")
			}
		})
	}
}
