package main

import (
	"io"
	"log"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx/internal/httpapi"
	"github.com/phalanx-go/phalanx/internal/httpapi/fakenode"
)

// An error that a newcomer meets says what to do next.
func TestErrorsSayWhatToDoNext(t *testing.T) {
	b := newBed(t)
	t.Chdir(t.TempDir())
	certificates(t)
	writeFile(t, "small", "0123456789")
	writeFile(t, "other", "another")
	b.run(t, "", "put", "small", "taken")
	secure := httptest.NewUnstartedServer(httpapi.New(fakenode.New(), httpapi.Options{Logger: quiet()}).Handler())
	config, err := tlsFiles{"c.pem", "k.pem", "ca.pem"}.server()
	if err != nil {
		t.Fatal(err)
	}
	secure.TLS = config
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	mute, err := net.Listen("tcp", "127.0.0.1:0") // as the data port of a node
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	go func() {
		for {
			conn, err := mute.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 64<<10))
			_ = conn.Close()
		}
	}()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"put", "other", "taken"}, "put it under another id, or delete this one first"},
		{[]string{"put", "taken", "small"}, "the file comes before the id: phalanx put small taken"},
		{[]string{"get", "nothing", "f"}, "put it, or wait for it with --wait (wait= over HTTP)"},
		{[]string{"get", "taken", "not/there"}, "the directory not does not exist"},
		{[]string{"ls", "--timeout", "1"}, "a duration is written like 500ms, 5s or 2m"},
		{[]string{"ls", "--addr", mute.Addr().String()}, "if that happens each time, this is not the port of --http"},
		{[]string{"ls", "--addr", secure.Listener.Addr().String()}, "give --addr as https://" + secure.Listener.Addr().String()},
		{[]string{"ls", "--addr", secure.URL}, "give the authority of its certificate with --tls-ca"},
		{[]string{"ls", "--addr", secure.URL, "--tls-ca=ca.pem"}, "the node asks for a certificate: give one with --tls-cert and --tls-key"},
		{[]string{"ls", "--addr", strings.Replace(b.addr, "http", "https", 1)}, "give --addr as http://ADDR"},
		{[]string{"dev", "--nodes", "two"}, `--nodes: "two" is no number; see`},
		{[]string{"dev", "--nodes", "99999999999999999999"}, `"99999999999999999999" is out of range`},
		{[]string{"node", "--memory", "64"}, "with a unit, such as 64MB"},
	} {
		must(t, b.run(t, "", c.args...), c.says)
	}
}
