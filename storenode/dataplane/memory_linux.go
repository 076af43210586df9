package dataplane

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

var pageSize = os.Getpagesize()

// mapMemory returns n zero bytes, n being a multiple of the page size, on huge
// pages where n is large enough for one.
func mapMemory(n int64) ([]byte, error) {
	slack := int64(0)
	if n >= huge {
		slack = huge // to find an aligned start
	}
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(n+slack), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, err
	}
	if slack > 0 {
		before := int64(-uintptr(p) % huge)
		cut(p, before)
		p = unsafe.Add(p, before)
		cut(unsafe.Add(p, n), slack-before)
	}
	mem := unsafe.Slice((*byte)(p), n)
	if slack > 0 {
		_ = unix.Madvise(mem, unix.MADV_HUGEPAGE) // advice: refused where huge pages are switched off
	}
	return mem, nil
}

// growMemory returns to bytes that begin with mem, in place if mem came from mapMemory or
// growMemory, else in a new range that can grow up to limit.
func growMemory(mem []byte, to, limit int64) ([]byte, error) {
	if int64(cap(mem)) >= to {
		return mem[:to], nil
	}
	space, err := mapMemory(limit)
	if err != nil {
		return nil, err
	}
	copy(space, mem)
	return space[:to], nil
}

// shrinkMemory gives back the memory behind the first n bytes of mem's range.
func shrinkMemory(mem []byte, n int64) []byte {
	base := unsafe.Pointer(unsafe.SliceData(mem))
	cut(unsafe.Add(base, n), int64(cap(mem))-n)
	return mem[:n:n]
}

func unmapMemory(mem []byte) { cut(unsafe.Pointer(unsafe.SliceData(mem)), int64(cap(mem))) }

func cut(p unsafe.Pointer, n int64) {
	if n == 0 {
		return
	}
	if err := unix.MunmapPtr(p, uintptr(n)); err != nil {
		panic("dataplane: munmap: " + err.Error()) // not a range of ours: a bug
	}
}

// joinMemory returns a and b as one slice if b lies directly behind a, else nil.
func joinMemory(a, b []byte) []byte {
	if unsafe.Add(unsafe.Pointer(unsafe.SliceData(a)), cap(a)) != unsafe.Pointer(unsafe.SliceData(b)) {
		return nil
	}
	return unsafe.Slice(unsafe.SliceData(a), cap(a)+cap(b))
}
