package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/phalanx-go/phalanx"
	"github.com/phalanx-go/phalanx/internal/httpapi"
)

// demoRun runs the program's demo and returns what it printed.
func demoRun(t *testing.T, args ...string) (stdout, stderr string, exit int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program, append([]string{"demo"}, args...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = clean(os.Environ()), &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func TestDemo(t *testing.T) {
	notShort(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, bytes.Repeat([]byte("phalanx"), 300_001), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("JSON", func(t *testing.T) {
		const rounds = 30
		out, errs, exit := demoRun(t, "-o", "json", "--nodes=4", "--num=3", fmt.Sprint("--rounds=", rounds), "--file="+file)
		var r demoResult
		dec := json.NewDecoder(strings.NewReader(out))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&r); err != nil || exit != 0 {
			t.Fatalf("exit %d, %v\n%s%s", exit, err, out, errs)
		}
		want := demoResult{Nodes: 4, OK: true, Killed: []demoKilled{}, Recovery: []demoEvent{}, Broadcast: demoBroadcast{Bytes: 2_100_007, Verified: true}, Training: demoTraining{Rounds: rounds, Num: 3, Verified: true}}
		got := r
		got.Broadcast.Seconds, got.Broadcast.OneByOne, got.Training.Accuracy = 0, 0, 0
		if !reflect.DeepEqual(got, want) || r.Broadcast.Seconds <= 0 || r.Broadcast.OneByOne <= 0 || r.Training.Accuracy < demoAccuracy {
			t.Errorf("%+v", r)
		}
		for _, key := range []string{"nodes", "broadcast", "bytes", "seconds", "one_by_one_seconds", "verified", "training", "rounds", "num", "accuracy", "killed", "recovery", "ok"} {
			if !strings.Contains(out, strconv.Quote(key)+":") {
				t.Errorf("there is no %s in %s", key, out)
			}
		}
	})
	t.Run("two are killed", func(t *testing.T) {
		big := filepath.Join(t.TempDir(), "big") // so that it can be hit on the way
		if err := os.WriteFile(big, bytes.Repeat([]byte("phalanx"), 14_000_000), 0o600); err != nil {
			t.Fatal(err)
		}
		out, errs, exit := demoRun(t, "-o", "json", "--nodes=4", "--rounds=40", "--kill=2", "--file="+big)
		var r demoResult
		if err := json.Unmarshal([]byte(out), &r); err != nil || exit != 0 || !r.OK {
			t.Fatalf("exit %d, %v\n%s%s", exit, err, out, errs)
		}
		if len(r.Killed) != 2 || r.Killed[0].During != "broadcast" || r.Killed[1].During != "reduce" || r.Killed[0].Node == r.Killed[1].Node || r.Killed[0].PID == r.Killed[1].PID {
			t.Fatalf("killed: %+v", r.Killed)
		}
		for _, k := range r.Killed {
			for _, kind := range []string{"NodeDown", "Restored"} {
				if !slices.ContainsFunc(r.Recovery, func(e demoEvent) bool {
					return e.Event == kind && e.Killed == k.Node && e.MS > 0 && (kind != "NodeDown" || strings.Contains(e.Text, string(k.Node)))
				}) {
					t.Errorf("no %s of %s in %+v", kind, k.Node, r.Recovery)
				}
			}
		}
		if r.Nodes != 4 || !r.Broadcast.Verified || !r.Training.Verified || r.Training.Rounds != 40 || r.Training.Num != 2 {
			t.Errorf("%+v", r)
		}
	})
	t.Run("text, and too few rounds for the accuracy", func(t *testing.T) {
		out, errs, exit := demoRun(t, "--nodes=2", "--rounds=1", "--file="+file)
		for _, want := range []string{"2 processes are a cluster", "file (2.0 MB) to 1 nodes in", "the SHA-256 of all 2 copies is right", "1 of 1 sums equal",
			"an accuracy of 0.90 takes 30 rounds", "ok: everything was verified"} {
			if !strings.Contains(out, want) {
				t.Errorf("it does not say %q:\n%s", want, out)
			}
		}
		if exit != 0 || errs != "" {
			t.Errorf("exit %d\n%s%s", exit, out, errs)
		}
	})
}

// The accuracy is demanded only where it can be reached, whatever the order in which
// gradients come.
func TestDemoDemandsWhatCanBe(t *testing.T) {
	for _, c := range []struct {
		cfg  demoConfig
		want bool
	}{
		{demoConfig{nodes: 8, num: 6, rounds: 60}, true}, {demoConfig{nodes: 4, num: 2, rounds: 30}, true},
		{demoConfig{nodes: 4, num: 3, rounds: 8}, false}, {demoConfig{nodes: 4, num: 1, rounds: 60}, false},
	} {
		if got := c.cfg.enough(); got != c.want {
			t.Errorf("%+v: %v", c.cfg, got)
		}
	}
}

func TestDemoOfWhatCannotBe(t *testing.T) {
	invalid := httpapi.ExitCode(phalanx.ErrInvalid)
	for _, c := range []struct{ arg, says string }{
		{"--nodes=1", "--nodes"}, {"--nodes=65", "--nodes"}, {"--num=9", "--num"}, {"--num=-1", "--num"},
		{"--kill=-1", "--kill: -1 are not 0 to 6"}, {"--kill=7", "--kill: 7 are not 0 to 6: of 8 nodes 2 must be left"},
		{"--rounds=0", "--rounds"}, {"--kill=3 --rounds=1", "--rounds: 1 are fewer than the 2 nodes that are to die after the first"}, {"--file=/is/not/there", "/is/not/there"}, {"--file=/", "/"}, {"more", "more"},
	} {
		out, errs, exit := demoRun(t, strings.Fields(c.arg)...)
		if exit != invalid || !strings.Contains(errs, c.says) || out != "" {
			t.Errorf("%s: exit %d, %s%s", c.arg, exit, out, errs)
		}
	}
}

// The children's end of the pipe is closed by the system when they have ended.
func TestDemoLeavesNobody(t *testing.T) {
	notShort(t)
	for _, how := range []string{"interrupt", "kill"} {
		t.Run(how, func(t *testing.T) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			cmd := exec.CommandContext(t.Context(), program, "demo", "--nodes=4", "--rounds=100000")
			cmd.Env, cmd.Stderr = clean(os.Environ()), w // which the children have, too
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			_ = w.Close()
			for seen := []byte{}; !bytes.Contains(seen, []byte("round ")); { // in the middle of the training
				var b [256]byte
				n, err := out.Read(b[:])
				if err != nil {
					t.Fatalf("%v after %s", err, seen)
				}
				seen = append(seen, b[:n]...)
			}
			signal := os.Interrupt
			if how == "kill" {
				signal = os.Kill
			}
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			rest, err := io.ReadAll(r)
			_ = cmd.Wait()
			if err != nil {
				t.Fatal(err)
			}
			if want := httpapi.ExitCode(phalanx.ErrCanceled); how == "interrupt" && cmd.ProcessState.ExitCode() != want {
				t.Errorf("exit %d, want %d: %s", cmd.ProcessState.ExitCode(), want, rest)
			}
		})
	}
}
