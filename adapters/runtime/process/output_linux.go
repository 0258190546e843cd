package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// openOutput makes what a worker prints to: a FIFO, which the next gateway can
// open, too. The worker gets it open for reading as well, so writing never
// fails for want of a reader; once the worker is gone, and whoever has it from
// the worker, reading still comes to its end. When the directory cannot be
// written, problem says so, and it is a pipe that ends with this gateway.
func (d *directory) openOutput(a assignment) (in, out *os.File, problem, err error) {
	if in, out, problem = d.makeFIFO(a); problem == nil {
		return in, out, nil, nil
	}
	in, out, err = os.Pipe()
	return in, out, problem, err
}

func (d *directory) makeFIFO(a assignment) (in, out *os.File, err error) {
	path := filepath.Join(d.Path, a.stem()+outputSuffix)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, err
	}
	if err := unix.Mkfifo(path, 0o600); err != nil {
		return nil, nil, fmt.Errorf("make %s: %w", path, err)
	}
	// Not by os.OpenFile, which makes it non-blocking: that is the worker's to decide.
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

// reopenOutput opens what a worker that runs prints to.
func (d *directory) reopenOutput(a assignment) (*os.File, error) {
	in, err := os.OpenFile(filepath.Join(d.Path, a.stem()+outputSuffix), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err := in.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		_ = in.Close()
		return nil, errors.Join(err, errors.New("not a FIFO"))
	}
	return in, nil
}
