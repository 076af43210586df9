package soak

import (
	"os/exec"
	"syscall"
)

// tie has the system kill the process when the driver dies. A process that is stopped
// then would not see the end of its standard input, and would stay for ever.
func tie(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
