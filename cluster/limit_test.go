package cluster_test

import (
	"net"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"

	"github.com/phalanx-go/phalanx/cluster"
)

// Very many connections that are none of a node's cause a few lines of log.
func TestBadConnectionsDoNotFloodTheLog(t *testing.T) {
	log, hook := test.NewNullLogger()
	log.SetLevel(logrus.InfoLevel)
	n := start(t, 1, func(c *cluster.Config) { c.Logger = log })[0]
	const many = 200
	for range many {
		c, err := net.Dial("tcp", n.DataAddr())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte("GET / HTTP/1.1\r\nHost: localhost\r\nAccept: anything at all\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		_, _ = c.Read(make([]byte, 1000)) // until it is refused
		_ = c.Close()
	}
	lines := len(hook.AllEntries())
	if lines == 0 || lines > many/10 {
		t.Errorf("%d lines were logged", lines)
	}
}
