//go:build !linux

package soak

import "errors"

func mountDisk(string) error   { return errors.ErrUnsupported }
func unmountDisk(string) error { return errors.ErrUnsupported }
func fillDisk(string) error    { return errors.ErrUnsupported }
func growDisk(string) error    { return errors.ErrUnsupported }
