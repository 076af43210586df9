//go:build !unix

package soak

import "errors"

func (p *process) suspend() error { return errors.ErrUnsupported }
func (p *process) resume() error  { return errors.ErrUnsupported }
