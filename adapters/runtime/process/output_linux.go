package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// openOutput makes the FIFO that a worker prints to. The next gateway can open it, too. The
// worker also holds it open for reading, so that it can write without a gateway. in is at
// its end when the worker and all processes that inherited the FIFO have ended. If the
// directory cannot be written, problem is the error, and openOutput makes a pipe instead,
// which ends with this gateway.
func (d *runDirectory) openOutput(a workerKey) (in, out *os.File, problem, err error) {
	if in, out, problem = d.makeFIFO(a); problem == nil {
		return in, out, nil, nil
	}
	in, out, err = os.Pipe()
	return in, out, problem, err
}

func (d *runDirectory) makeFIFO(a workerKey) (in, out *os.File, err error) {
	path := filepath.Join(d.Path, a.fileStem()+outputSuffix)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, err
	}
	if err := unix.Mkfifo(path, 0o600); err != nil {
		return nil, nil, fmt.Errorf("make %s: %w", path, err)
	}
	// os.OpenFile would set O_NONBLOCK, which the worker would inherit.
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open %s: %w", path, err)
	}
	out = os.NewFile(uintptr(fd), path)
	if in, err = d.reopenOutput(a); err != nil {
		_ = out.Close()
		return nil, nil, err
	}
	return in, out, nil
}

// reopenOutput opens the FIFO of a running worker.
func (d *runDirectory) reopenOutput(a workerKey) (*os.File, error) {
	in, err := os.OpenFile(filepath.Join(d.Path, a.fileStem()+outputSuffix), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := in.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		_ = in.Close()
		return nil, errors.Join(err, errors.New("not a FIFO"))
	}
	return in, nil
}
