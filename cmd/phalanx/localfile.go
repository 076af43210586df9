package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/phalanx-go/phalanx"
)

// The names of the program's own streams, in errors.
const (
	standardInput  = "standard input"
	standardOutput = "standard output"
)

// notWritten is the text of localError for a file that cannot be written.
const notWritten = "cannot be written"

// localError is an error of a file on this machine, which no node knows: it never means that
// the store has no space. Only a reader that has gone is no mistake.
func localError(file, what string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err // the rest repeats the name, or has that of a temporary file
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		err = le.Err
	}
	e := &phalanx.Error{Kind: phalanx.ErrInvalid, Err: fmt.Errorf("%s %s: %w", file, what, err)}
	switch {
	case what == notWritten && errors.Is(err, fs.ErrNotExist):
		e.Err = fmt.Errorf("%s %s: the directory %s does not exist (%w)", file, what, filepath.Dir(file), err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		e.Err = fmt.Errorf("%s %s: there is no space on its disk (%w)", file, what, err)
	case errors.Is(err, syscall.EPIPE):
		e.Kind, e.Err = phalanx.ErrCanceled, fmt.Errorf("%s %s: no process reads it any more (%w)", file, what, err)
	}
	return e
}

// written is a file, or a stream, whose errors say which it is.
type written struct {
	io.Writer
	name string
}

func (w written) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err != nil {
		err = localError(w.name, notWritten, err)
	}
	return n, err
}

// input is a file, or a stream, to be put. Of a plain file all bytes are read that it had
// when it was opened. If there are fewer or more in the end, the last read fails, so that
// no part of a file is taken for the whole.
type input struct {
	io.ReadCloser
	name string
	size int64 // or phalanx.UnknownSize
	at   int64
}

// openInput opens a file, or for "-" stdin. The size is known only of a plain file that
// says that it has bytes: files of /proc say that they have none.
func openInput(file string, stdin io.Reader) (*input, error) {
	if file == "-" {
		return &input{ReadCloser: io.NopCloser(stdin), name: standardInput, size: phalanx.UnknownSize}, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, localError(file, "cannot be read", err)
	}
	in := &input{ReadCloser: f, name: file, size: phalanx.UnknownSize}
	st, err := f.Stat()
	switch {
	case err != nil:
		err = localError(file, "cannot be read", err)
	case st.IsDir():
		err = invalid("%s is a directory: put its files one by one, or tar c %s | phalanx put - ID", file, file)
	case st.Mode().IsRegular() && st.Size() > 0:
		in.size = st.Size()
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return in, nil
}

// Read reads no more than the size, if that is known.
func (in *input) Read(p []byte) (int, error) {
	if in.size < 0 {
		return in.read(p)
	}
	left := in.size - in.at
	if left == 0 {
		return 0, io.EOF
	}
	n, err := in.read(p[:min(int64(len(p)), left)])
	switch in.at += int64(n); {
	case err == io.EOF && in.at < in.size:
		return n, invalid("%s ended after %d of %d bytes: it has become shorter meanwhile, or is no plain file; try phalanx put - ID < %s", in.name, in.at, in.size, in.name)
	case err == nil && in.at == in.size:
		return in.end(n)
	}
	return n, err
}

// end returns the result of a Read that has come to the end with n bytes.
func (in *input) end(n int) (int, error) {
	for {
		var more [1]byte
		switch k, err := in.read(more[:]); {
		case k > 0:
			return 0, invalid("%s has more than the %d bytes that it had at first: it has grown meanwhile; put a copy of it", in.name, in.size)
		case err == io.EOF:
			return n, nil
		case err != nil:
			return 0, err
		}
	}
}

func (in *input) read(p []byte) (int, error) {
	n, err := in.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = localError(in.name, "cannot be read", err)
	}
	return n, err
}
