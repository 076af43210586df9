package main

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/phalanx-go/phalanx/cluster"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

// settings are the settings of `phalanx node`.
type settings struct {
	cluster      cluster.Config
	http         string // host:port, or "off"
	dir          string // the node's folder; "": none
	pprof        bool
	files        tlsFiles
	logLevel     logrus.Level
	joinTimeout  time.Duration
	leaveTimeout time.Duration
}

// setting is one of them: a flag --key, an environment variable PHALANX_KEY, a
// key of the file.
type setting struct {
	key   string
	field string // of cluster.Config, if it is one: its errors name that
	kind  string // for the help
	value string // the default
	note  string // the meaning of an empty default
	usage string
	set   func(s *settings, text string) error
}

// allSettings are in the order in which they are shown.
func allSettings() []setting {
	return []setting{
		{key: "name", field: "Name", kind: "name", note: "the host's, and a random suffix", usage: "member name",
			set: func(s *settings, v string) error { s.cluster.Name = v; return nil }},
		{key: "cluster", field: "Cluster", kind: "name", value: "phalanx", usage: "nodes of different clusters refuse each other",
			set: func(s *settings, v string) error { s.cluster.Cluster = v; return nil }},
		{key: "bind", field: "Bind", kind: "address", value: "127.0.0.1", usage: "address to listen on, without port",
			set: func(s *settings, v string) error { s.cluster.Bind = v; return nil }},
		{key: "advertise", field: "Advertise", kind: "address", note: "bind", usage: "address that others dial, without port",
			set: func(s *settings, v string) error { s.cluster.Advertise = v; return nil }},
		{key: "control-port", field: "ControlPort", kind: "port", value: "7421", usage: "port of control messages, which seeds name; 0 takes a free one",
			set: func(s *settings, v string) error { return port(&s.cluster.ControlPort, v) }},
		{key: "data-port", field: "DataPort", kind: "port", value: "7422", usage: "port of objects; 0 takes a free one",
			set: func(s *settings, v string) error { return port(&s.cluster.DataPort, v) }},
		{key: "seeds", field: "Seeds", kind: "host:port,...", note: "a cluster of its own", usage: "control addresses (--control-port) of the nodes that begin the cluster, the same for all nodes, these too; or of any members",
			set: func(s *settings, v string) error { s.cluster.Seeds = list(v); return nil }},
		{key: "alone", field: "Alone", kind: "bool", value: "false", usage: "without --seeds and off loopback: begin a cluster of its own, each time it starts",
			set: func(s *settings, v string) error { return boolean(&s.cluster.Alone, v) }},
		{key: "http", kind: "host:port", value: httpapi.DefaultAddr, usage: "address of the HTTP interface, or off",
			set: func(s *settings, v string) error { s.http = v; return httpAddr(v) }},
		{key: "dir", kind: "folder", note: "none: it keeps nothing", usage: "folder that keeps the runs of workflows, of this node alone; the node makes it",
			set: func(s *settings, v string) error { s.dir = v; return nil }},
		{key: "memory", field: "Memory", kind: "size", note: "a quarter of the machine's", usage: "cap on everything that the store holds, such as 4GB",
			set: func(s *settings, v string) error { return size(&s.cluster.Memory, v) }},
		{key: "inline-limit", field: "InlineLimit", kind: "size", value: "64KB", usage: "objects below this size, at most 256KB, live in the directory; 0 for none",
			set: func(s *settings, v string) error { return inlineLimit(&s.cluster.InlineLimit, v) }},
		{key: "shards", field: "Shards", kind: "number", value: "64", usage: "shards of the directory; the first node decides",
			set: func(s *settings, v string) error { return number(&s.cluster.Shards, v) }},
		{key: "voters", field: "Voters", kind: "number", value: "0", usage: "members that decide on views: 1, 3, 5 or 7; 0 goes by the number of members",
			set: func(s *settings, v string) error {
				if v == "0" {
					s.cluster.Voters = 0
					return nil
				}
				return number(&s.cluster.Voters, v)
			}},
		{key: "fanout", field: "Fanout", kind: "number", value: "1", usage: "receivers of one object that a sender serves at a time",
			set: func(s *settings, v string) error { return number(&s.cluster.Fanout, v) }},
		{key: "deadline", field: "Deadline", kind: "duration", value: "1m0s", usage: "deadline of calls that have none",
			set: func(s *settings, v string) error { return duration(&s.cluster.Deadline, v) }},
		{key: "join-timeout", kind: "duration", value: "1m0s", usage: "how long to try to join",
			set: func(s *settings, v string) error { return duration(&s.joinTimeout, v) }},
		{key: "leave-timeout", kind: "duration", value: "30s", usage: "how long handing over may take before the node prints what remains",
			set: func(s *settings, v string) error { return duration(&s.leaveTimeout, v) }},
		{key: "tls-cert", kind: "file", note: "no TLS", usage: "certificate of this node, PEM",
			set: func(s *settings, v string) error { s.files.cert = v; return nil }},
		{key: "tls-key", kind: "file", note: "none", usage: "its key, PEM",
			set: func(s *settings, v string) error { s.files.key = v; return nil }},
		{key: "tls-ca", kind: "file", note: "the system's authorities", usage: "authority that must have signed the certificates of peers and clients, PEM",
			set: func(s *settings, v string) error { s.files.ca = v; return nil }},
		{key: "insecure", field: "Insecure", kind: "bool", value: "false", usage: "allow addresses that are not loopback without TLS, on a closed network",
			set: func(s *settings, v string) error { return boolean(&s.cluster.Insecure, v) }},
		{key: "pprof", kind: "bool", value: "false", usage: "serve profiles at /debug/pprof/",
			set: func(s *settings, v string) error { return boolean(&s.pprof, v) }},
		{key: "log-level", kind: "level", value: "info", usage: "error, warning, info or debug",
			set: func(s *settings, v string) (err error) { s.logLevel, err = logLevel(v); return err }},
	}
}

func list(v string) []string {
	var all []string
	for part := range strings.SplitSeq(v, ",") {
		if part = strings.TrimSpace(part); part != "" {
			all = append(all, part)
		}
	}
	return all
}

// number takes no 0, which the library would replace by its default.
func number(field *int, v string) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		return fmt.Errorf("%q is not a number from 1", v)
	}
	*field = n
	return nil
}

func port(field *int, v string) error {
	n, err := strconv.ParseUint(v, 10, 16)
	if err != nil {
		return fmt.Errorf("%q is not a port from 0 to 65535", v)
	}
	*field = int(n)
	return nil
}

func size(field *int64, v string) error {
	if v == "" {
		return nil
	}
	n, err := parseSize(v)
	if err == nil && n == 0 {
		err = fmt.Errorf("%q is no size above 0", v)
	}
	*field = n
	return err
}

// inlineLimit has no objects inline for 0, where the library takes a negative
// number.
func inlineLimit(field *int64, v string) error {
	n, err := parseSize(v)
	if n == 0 {
		n = -1
	}
	*field = n
	return err
}

func duration(field *time.Duration, v string) error {
	d, err := time.ParseDuration(v)
	if err != nil || d <= 0 {
		return fmt.Errorf("%q is not a duration such as 500ms or 30s", v)
	}
	*field = d
	return nil
}

func boolean(field *bool, v string) error {
	b, err := strconv.ParseBool(v)
	if err != nil {
		return fmt.Errorf("%q is neither true nor false", v)
	}
	*field = b
	return nil
}

func logLevel(v string) (logrus.Level, error) {
	l, err := logrus.ParseLevel(v)
	if err != nil {
		return 0, fmt.Errorf("%q is none of the levels error, warning, info and debug", v)
	}
	return l, nil
}

func httpAddr(v string) error {
	if v == "off" {
		return nil
	}
	host, port, err := net.SplitHostPort(v)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || host == "" {
		return fmt.Errorf("%q is neither host:port nor off", v)
	}
	return nil
}
