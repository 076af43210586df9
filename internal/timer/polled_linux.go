package timer

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// polled is a timer of the kernel.
type polled struct {
	fire func()
	done chan struct{} // closed when its goroutine has ended

	mu   sync.Mutex
	file *os.File // nil: closed
	fd   int      // of it
}

// newImpl returns a timer of the kernel, or a usual one if there is none to be had.
func newImpl(fire func()) impl {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return &usual{fire: fire}
	}
	p := &polled{fire: fire, file: os.NewFile(uintptr(fd), "timer"), fd: fd, done: make(chan struct{})}
	go p.wait(p.file)
	return p
}

func (p *polled) wait(file *os.File) {
	defer close(p.done)
	var times [8]byte
	for {
		if _, err := file.Read(times[:]); err != nil { // it is closed
			return
		}
		p.fire()
	}
}

func (p *polled) set(after time.Duration) { p.arm(max(after, 1)) } // 0 would stop it

func (p *polled) stop() { p.arm(0) }

func (p *polled) arm(after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file == nil {
		return
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(after))}
	if err := unix.TimerfdSettime(p.fd, 0, &spec, nil); err != nil { // only what is no timer or no time is refused
		panic(os.NewSyscallError("timerfd_settime", err))
	}
}

func (p *polled) close() {
	p.mu.Lock()
	file := p.file
	p.file = nil
	p.mu.Unlock()
	if file != nil {
		_ = file.Close()
	}
	<-p.done
}
