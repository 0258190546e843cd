package subprocess

import (
	"io"
	"os"
	"sync"
)

// pipes feed the tool's further inputs, each by a goroutine of its own.
type pipes struct {
	inputs  []io.Reader
	read    []*os.File // the tool's ends
	write   []*os.File // this process's ends
	writing sync.WaitGroup
}

func newPipes(inputs []io.Reader) (*pipes, error) {
	p := &pipes{inputs: inputs}
	for range inputs {
		r, w, err := os.Pipe()
		if err != nil {
			p.close()
			return nil, err
		}
		p.read, p.write = append(p.read, r), append(p.write, w)
	}
	return p, nil
}

func (p *pipes) readers() []*os.File { return p.read }

// feed begins to write once the tool has started and inherited its ends.
func (p *pipes) feed() {
	for i, w := range p.write {
		_ = p.read[i].Close() // so that writing fails once the tool has ended
		p.writing.Go(func() {
			_, _ = io.Copy(w, p.inputs[i]) // the tool may end before it has read everything
			_ = w.Close()
		})
	}
}

// close waits for the goroutines and closes both ends of every pipe.
func (p *pipes) close() {
	p.writing.Wait()
	for _, f := range append(p.read, p.write...) {
		_ = f.Close() // closed already, unless the tool was not started
	}
}
