package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"
)

// configure returns the settings that the surroundings and args decide on.
func (b *bed) configure(t *testing.T, args ...string) (*settings, error) {
	t.Helper()
	var errs strings.Builder
	a := b.app("", &errs, &errs)
	cmd := &cobra.Command{Use: "x"}
	configFlags(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	all, err := a.load(cmd.Flags())
	if err != nil {
		return nil, err
	}
	return parse(all)
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestConfigPrecedence(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "p.yaml", "cluster: from-file\nshards: 16\nvoters: 5\nseeds: [a:1, b:2]\ninsecure: true\nmemory: 3GB\n")
	b := &bed{environ: []string{"PHALANX_CONFIG=p.yaml", "PHALANX_CLUSTER=from-env", "PHALANX_SHARDS=32", "PHALANX_LOG_LEVEL=debug", "PHALANX_ADDR=x:1"}}
	s, err := b.configure(t, "--cluster", "from-flag", "--pprof")
	if err != nil {
		t.Fatal(err)
	}
	c := s.cluster
	if c.Cluster != "from-flag" || c.Shards != 32 || c.Voters != 5 || strings.Join(c.Seeds, " ") != "a:1 b:2" || !c.Insecure || c.Memory != 3<<30 ||
		s.logLevel != logrus.DebugLevel || !s.pprof || c.Fanout != 1 || c.InlineLimit != 64<<10 || c.Deadline != time.Minute || c.ControlPort != 7421 || s.http != "127.0.0.1:7420" {
		t.Errorf("%+v", s)
	}
	got := b.run(t, "", "config", "show", "--cluster=from-flag", "-o", "json")
	var shown struct{ Settings []choice }
	if err := json.Unmarshal([]byte(got), &shown); err != nil || len(shown.Settings) != len(allSettings()) {
		t.Fatalf("%v %s", err, got)
	}
	for key, want := range map[string]choice{
		"cluster":   {"cluster", "from-flag", "flag --cluster"},
		"shards":    {"shards", "32", "environment PHALANX_SHARDS"},
		"log-level": {"log-level", "debug", "environment PHALANX_LOG_LEVEL"},
		"voters":    {"voters", "5", "file p.yaml"},
		"seeds":     {"seeds", "a:1,b:2", "file p.yaml"},
		"fanout":    {"fanout", "1", "default"},
		"memory":    {"memory", "3GB", "file p.yaml"},
	} {
		if c := find(shown.Settings, key); c != want {
			t.Errorf("%+v, want %+v", c, want)
		}
	}
	if text := b.run(t, "", "config", "show"); !strings.Contains(text, "name           (the host's, and a random suffix)  default\n") || !strings.Contains(text, "shards         32 ") {
		t.Errorf("as text:\n%s", text)
	}
}

// The defaults are what a node of its own takes: all of them can be read.
func TestConfigDefaults(t *testing.T) {
	s, err := (&bed{}).configure(t)
	if err != nil {
		t.Fatal(err)
	}
	if s.cluster.Bind != "127.0.0.1" || s.cluster.Insecure || s.pprof || s.joinTimeout == 0 || s.leaveTimeout == 0 {
		t.Errorf("%+v", s)
	}
}

func TestConfigErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "unknown.yaml", "shard: 16\n")
	writeFile(t, "nested.yaml", "memory:\n  cap: 1GB\n")
	writeFile(t, "bad.yaml", "shards: [\n")
	writeFile(t, "value.yaml", "shards: many\n")
	for _, c := range []struct {
		environ []string
		args    string
		want    string
	}{
		{nil, "--config nofile.yaml", "the file nofile.yaml cannot be read: open nofile.yaml: no such file or directory"},
		{nil, "--config bad.yaml", "the file bad.yaml cannot be read"},
		{nil, "--config unknown.yaml", `there is no setting "shard", which the file unknown.yaml has`},
		{nil, "--config nested.yaml", `there is no setting "memory.cap"`},
		{nil, "--config value.yaml", `shards (file value.yaml): "many" is not a number from 1`},
		{[]string{"PHALANX_VOTERS=4"}, "", "voters (environment PHALANX_VOTERS): 4 are not 1, 3, 5 or 7"},
		{nil, "--shards 100000", "shards (flag --shards): 100000 are not 1 to 4096"},
		{nil, "--shards 0", `shards (flag --shards): "0" is not a number from 1`},
		{nil, "--memory much", `memory (flag --memory): "much" is not a size`},
		{nil, "--memory -1", `memory (flag --memory): "-1" is not a size`},
		{nil, "--memory 99999999TB", `memory (flag --memory): "99999999TB" is not a size`},
		{nil, "--memory 5KB", "memory (flag --memory): 5120 bytes are less than a mebibyte"},
		{nil, "--inline-limit 1GB", "inline-limit (flag --inline-limit)"},
		{nil, "--control-port 65536", `control-port (flag --control-port): "65536" is not a port`},
		{nil, "--data-port x", "data-port (flag --data-port)"},
		{nil, "--deadline 0s", "deadline (flag --deadline)"},
		{nil, "--seeds here", `seeds (flag --seeds): "here" is not host:port`},
		{nil, "--name a#b", "name (flag --name)"},
		{nil, "--insecure=maybe", `insecure (flag --insecure): "maybe" is neither true nor false`},
		{nil, "--seeds 192.0.2.1:7421", "bind (default): this node listens on 127.0.0.1, where the seed 192.0.2.1:7421 cannot reach it"},
		{nil, "--log-level loud", `log-level (flag --log-level): "loud" is none of the levels error, warning, info and debug`},
		{nil, "--http 7420", `http (flag --http): "7420" is neither host:port nor off`},
		{nil, "--http 10.0.0.1:7420", "http: 10.0.0.1 is not a loopback address and there is no TLS: give --tls-cert, --tls-key and --tls-ca, or --insecure"},
		{nil, "--bind 10.0.0.1", "bind (flag --bind): 10.0.0.1 is not a loopback address and there is no TLS"},
		{nil, "--advertise 10.0.0.1", "advertise (flag --advertise): 10.0.0.1 is not a loopback address and there is no TLS"},
		{nil, "--bind 0.0.0.0 --insecure", "--advertise must say which of them others dial"},
		{nil, "--tls-cert c.pem", "--tls-cert and --tls-key are needed together"},
		{nil, "--tls-cert c.pem --tls-key k.pem", "open c.pem: no such file or directory"},
	} {
		b := &bed{environ: c.environ}
		for _, command := range []string{"node", "config show"} {
			got := b.run(t, "", strings.Fields(command+" "+c.args)...)
			if !strings.Contains(got, "invalid: ") || !strings.Contains(got, c.want) || !strings.HasSuffix(got, "exit 2\n") {
				t.Errorf("%s %v %s: %s\nwant %s", command, c.environ, c.args, got, c.want)
			}
		}
	}
}

// A variable that is no setting may be somebody else's.
func TestConfigStrangeVariable(t *testing.T) {
	b := &bed{environ: []string{"PHALANX_SERVICE_HOST=10.0.0.1"}}
	if got := b.run(t, "", "config", "show"); !strings.Contains(got, "error| phalanx: warning: PHALANX_SERVICE_HOST is no setting and is not used\n") || strings.Contains(got, "exit") {
		t.Error(got)
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "17": 17, "17B": 17, "64KB": 64 << 10, "64k": 64 << 10, "1.5 MiB": 3 << 19, "4GB": 4 << 30, "2 TB": 2 << 40, "1PB": 1 << 50} {
		if n, err := parseSize(text); n != want || err != nil {
			t.Errorf("%q: %d, %v, want %d", text, n, err, want)
		}
	}
	for _, text := range []string{"", "KB", "x", "-1", "1XB", "1e3MB x", "NaN", "Inf", "8388608TB", "9PB9"} {
		if n, err := parseSize(text); err == nil {
			t.Errorf("%q is %d", text, n)
		}
	}
	for n, want := range map[int64]string{-1: "unknown", 0: "0 B", 1023: "1023 B", 1024: "1.0 KB", 3 << 29: "1.5 GB", 1 << 62: "4096.0 PB"} {
		if got := formatSize(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
