package children_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/phalanx-go/phalanx/internal/children"
)

// The test binary is the child, too.
const role = "PHALANX_CHILDREN_TEST"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "obeys":
		ctx, cancel := children.Lifetime(time.Minute)
		defer cancel()
		fmt.Println("up")
		<-ctx.Done()
	case "fails":
		os.Exit(7)
	case "hangs":
		_, cancel := children.Lifetime(time.Millisecond)
		defer cancel()
		select {}
	case "deaf":
		fmt.Println("up")
		select {}
	case "echoes":
		fmt.Println("this is no answer")
		if err := children.Orders(func(o []string) { children.Say(o) }); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		children.Say([]string{"no more orders"})
	case "parent": // has a child and waits to be killed
		cmd := command("obeys")
		cmd.ExtraFiles = []*os.File{os.NewFile(3, "pipe")}
		out, _ := cmd.StdoutPipe()
		if _, err := children.Start(cmd); err != nil {
			panic(err)
		}
		line, _ := bufio.NewReader(out).ReadString('\n')
		fmt.Print(line)
		select {}
	}
}

func command(as string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), role+"="+as)
	return cmd
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestStop(t *testing.T) {
	c, err := children.Start(command("obeys"), command("obeys"))
	if err != nil {
		t.Fatal(err)
	}
	if pids := c.PIDs(); len(pids) != 2 || pids[0] == pids[1] {
		t.Errorf("processes %v", pids)
	}
	for range 2 {
		if err := c.Stop(within(t)); err != nil {
			t.Error(err)
		}
	}
	select {
	case err := <-c.Failed():
		t.Errorf("failed: %v", err)
	default:
	}
}

func TestEarlyEndIsTold(t *testing.T) {
	c, err := children.Start(command("fails"))
	if err != nil {
		t.Fatal(err)
	}
	if err := <-c.Failed(); !strings.Contains(err.Error(), "exit status 7") {
		t.Error(err)
	}
	if err := c.Stop(within(t)); err == nil {
		t.Error("Stop says nothing of it")
	}
}

func TestAChildThatDoesNotEnd(t *testing.T) {
	t.Run("ends itself", func(t *testing.T) {
		c, err := children.Start(command("hangs"))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Stop(within(t)); err == nil || !strings.Contains(err.Error(), "exit status 1") {
			t.Error(err)
		}
	})
	t.Run("is killed", func(t *testing.T) {
		c, err := children.Start(command("deaf"))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.Stop(ctx); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Error(err)
		}
	})
}

// The grandchild is the pipe's last writer: the pipe ends when the grandchild does.
func TestNobodyOutlivesTheParent(t *testing.T) {
	cmd := command("parent")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.ExtraFiles = []*os.File{w}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "up\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if _, err := io.Copy(io.Discard, r); err != nil {
		t.Error(err)
	}
}

func TestStartOfWhatIsNotThere(t *testing.T) {
	_, err := children.Start(command("obeys"), exec.Command("/nowhere/at/all"))
	if err == nil || !strings.Contains(err.Error(), "/nowhere/at/all") {
		t.Error(err)
	}
}

// A child answers each order with a line, however long. It sees the end of the orders, and
// its last line has been heard when it has ended.
func TestTalk(t *testing.T) {
	heard := make(chan []string, 3)
	c, err := children.Talk(command("echoes"), func(a []string) { heard <- a })
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a", strings.Repeat("b", 1<<20)} {
		if err := c.Tell([]string{want}); err != nil {
			t.Fatal(err)
		}
		if got := <-heard; len(got) != 1 || got[0] != want {
			t.Errorf("%.80q", got)
		}
	}
	c.Abandon()
	if err := c.Wait(within(t)); err != nil || len(heard) != 1 {
		t.Errorf("%v, %d lines", err, len(heard))
	}
	if c.Tell([]string{"late"}) == nil {
		t.Error("a child that has ended takes an order")
	}
}

// Lines behind the first one hold nobody up.
func TestFirstLine(t *testing.T) {
	w, first := children.FirstLine()
	for range 3 {
		_, _ = io.WriteString(w, "a\nb\n")
	}
	if got := <-first; string(got) != "a" || len(first) != 0 {
		t.Errorf("%q, and %d more", got, len(first))
	}
}

func TestLines(t *testing.T) {
	var got []string
	l := children.NewLines(func(line []byte) { got = append(got, string(line)) })
	for _, part := range []string{"a\nb", "c", "", "\n\nd\n", "e"} {
		if n, err := l.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("%q: %d, %v", part, n, err)
		}
	}
	if strings.Join(got, "|") != "a|bc||d" {
		t.Errorf("%q", got)
	}
	for range 2 {
		if l.End(); strings.Join(got, "|") != "a|bc||d|e" {
			t.Errorf("%q in the end", got)
		}
	}
}
