package actors_test

import (
	"testing"

	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"

	"github.com/phalanx-go/phalanx/internal/leaks"
)

func TestMain(m *testing.M) { leaks.VerifyTestMain(m) }

func quiet() *logrus.Logger {
	log, _ := logtest.NewNullLogger()
	return log
}
