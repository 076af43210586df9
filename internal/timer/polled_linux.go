package timer

import (
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// polled is a timer of the kernel.
type polled struct {
	fire func()
	done chan struct{} // closed when its goroutine has ended

	mu      sync.Mutex
	file    *os.File  // nil: closed
	fd      int       // of it
	at      time.Time // when it comes due; zero: it is not set
	instead *usual    // nil: the kernel's can be waited for
}

// newImpl returns a timer of the kernel, or a usual one if there is none to be had.
func newImpl(fire func()) impl {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return &usual{fire: fire}
	}
	return newPolled(fire, os.NewFile(uintptr(fd), "timer"), fd)
}

// newPolled returns the timer fd, whose file is waited for.
func newPolled(fire func(), file *os.File, fd int) *polled {
	p := &polled{fire: fire, file: file, fd: fd, done: make(chan struct{})}
	go p.wait(file)
	return p
}

func (p *polled) wait(file *os.File) {
	defer close(p.done)
	var times [8]byte
	for {
		switch _, err := file.Read(times[:]); {
		case errors.Is(err, os.ErrClosed):
			return
		case err != nil: // the runtime could not poll one more file, for example
			p.replace()
			return
		}
		p.fire()
	}
}

// replace has a usual timer take over.
func (p *polled) replace() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.file == nil {
		return
	}
	p.instead = &usual{fire: p.fire}
	if !p.at.IsZero() {
		p.instead.set(time.Until(p.at))
	}
}

func (p *polled) set(after time.Duration) { p.arm(max(after, 1)) } // 0 would stop it

func (p *polled) stop() { p.arm(0) }

func (p *polled) arm(after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.file == nil:
		return
	case p.instead != nil && after == 0:
		p.instead.stop()
		return
	case p.instead != nil:
		p.instead.set(after)
		return
	}
	p.at = time.Time{}
	if after > 0 {
		p.at = time.Now().Add(after)
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
	instead := p.instead
	p.mu.Unlock()
	if instead != nil {
		instead.close()
	}
	if file != nil {
		_ = file.Close()
	}
	<-p.done
}
