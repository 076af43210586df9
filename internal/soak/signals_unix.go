//go:build unix

package soak

import "syscall"

func (p *process) suspend() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }
func (p *process) resume() error  { return p.cmd.Process.Signal(syscall.SIGCONT) }
