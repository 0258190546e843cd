//go:build !linux

package ytdlp

import "os"

func fileSocket() (ends [2]*os.File, err error) { return ends, errUnsupported }

func sendFile(*os.File, *os.File) error { return errUnsupported }
