package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// binaries are where Debian has PostgreSQL's programs.
const binaries = "/usr/lib/postgresql/15/bin"

// postgres is a server with the settings that it has by default (fsync and synchronous_commit are on), on a
// socket in its folder.
type postgres struct{ cmd *exec.Cmd }

// databaseURL is where the server of a folder is.
func databaseURL(dir string) string {
	return "postgres:///postgres?user=postgres&host=" + filepath.Join(dir, "postgres")
}

func startPostgres(dir string) (*postgres, error) {
	as, err := user.Lookup("postgres") // it does not run as root
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL 15 is not installed (apt-get install postgresql-15): %w", err)
	}
	uid, err := strconv.Atoi(as.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(as.Gid)
	if err != nil {
		return nil, err
	}
	home := filepath.Join(dir, "postgres")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	for at := dir; at != os.TempDir() && at != "/" && at != "."; at = filepath.Dir(at) { // so that it finds its own
		if err := os.Chmod(at, 0o711); err != nil {
			return nil, err
		}
	}
	if err := os.Chown(home, uid, gid); err != nil {
		return nil, err
	}
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(binaries, name), args...)
		cmd.Dir = home
		if os.Geteuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, Pdeathsig: syscall.SIGQUIT}
		}
		return cmd
	}
	data := filepath.Join(home, "data")
	if said, err := command("initdb", "--pgdata", data, "--username", "postgres", "--auth", "trust").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, said)
	}
	p := &postgres{command("postgres", "-D", data, "-k", home, "-c", "listen_addresses=")}
	if p.cmd.Stderr, err = os.Create(filepath.Join(dir, "postgres.log")); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, databaseURL(dir))
		if err == nil {
			return p, conn.Close(ctx)
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("PostgreSQL does not answer: %w", err), p.stop())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (p *postgres) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil { // fast shutdown
		return err
	}
	return p.cmd.Wait()
}
