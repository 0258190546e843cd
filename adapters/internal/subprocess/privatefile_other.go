//go:build !linux

package subprocess

import (
	"errors"
	"os"
)

// NewPrivateFile needs Linux.
func NewPrivateFile([]byte) (*os.File, error) {
	return nil, errors.New("files of a tool alone need Linux")
}
