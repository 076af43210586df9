package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A node whose folder cannot be used says why, and what to do, and ends before it is ready; so does dev. A folder that can
// be used is there afterwards, and a second node is not let into it.
func TestFolderOfANode(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := &bed{environ: clean(os.Environ())}
	must(t, b.run(t, "", nodeArgs("n1", "16MB", "--dir="+filepath.Join(file, "below"))...), `"kind":"invalid"`, "dir: "+file, "exit 2\n")

	folder := filepath.Join(dir, "n1")
	d := start(t, nodeArgs("n1", "16MB", "--dir="+folder)...)
	var r ready
	d.line(t, &r)
	got := b.run(t, "", nodeArgs("n2", "16MB", "--dir="+folder)...)
	must(t, got, "dir: "+folder, "exit 2\n")
	if strings.Contains(got, `"control":`) {
		t.Errorf("a node without its folder was ready:\n%s", got)
	}
	must(t, b.dev(t, "--nodes=1", "--http=127.0.0.1:0", "--memory=16MB", "--dir="+dir), folder, "exit 2")
	d.interrupt(t, syscall.SIGTERM)

	// Each node of dev has a folder of its own, also where the environment names that of dev.
	environ := append(clean(os.Environ()), "PHALANX_DIR="+filepath.Join(dir, "dev"))
	e := startIn(t, environ, program, "dev", "--nodes=2", "-o", "json", "--http=127.0.0.1:0", "--memory=64MB", "--log-level=error")
	var up struct{ Nodes []child }
	e.line(t, &up)
	for _, name := range []string{"n1", "n2"} {
		if all, err := os.ReadDir(filepath.Join(dir, "dev", name)); err != nil || len(all) == 0 {
			t.Errorf("the folder of %s has %d files: %v", name, len(all), err)
		}
	}
	e.interrupt(t, os.Interrupt)
}
