package cluster_test

import (
	"bufio"
	"encoding/json"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// iperf3 returns how many MB/s one stream of iperf3 moves over loopback in two
// seconds, with default settings otherwise; 0 if it is not installed.
func iperf3(b *testing.B) float64 {
	b.Helper()
	path, err := exec.LookPath("iperf3")
	if err != nil {
		return 0
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	_ = l.Close()
	server := exec.Command(path, "--server", "--one-off", "--forceflush", "--bind", "127.0.0.1", "--port", port)
	told, err := server.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}()
	lines := bufio.NewScanner(told)
	for listens := false; !listens; listens = strings.Contains(lines.Text(), "listening") {
		if !lines.Scan() {
			b.Fatal("the server of iperf3 does not listen")
		}
	}
	out, err := exec.Command(path, "--client", "127.0.0.1", "--port", port, "--time", "2", "--json").Output()
	var r struct {
		End struct {
			Received struct {
				Rate float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		} `json:"end"`
	}
	if err == nil {
		err = json.Unmarshal(out, &r)
	}
	if err != nil || r.End.Received.Rate == 0 {
		b.Fatalf("iperf3: %v: %s", err, out)
	}
	return r.End.Received.Rate / 8 / 1e6
}
