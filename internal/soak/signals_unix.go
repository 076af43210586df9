//go:build unix

package soak

import "syscall"

func (p *process) suspend() error { return p.Signal(syscall.SIGSTOP) }
func (p *process) resume() error  { return p.Signal(syscall.SIGCONT) }
