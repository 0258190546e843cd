//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// profileGateway profiles the gateway's CPU until end, if that was asked for. The returned
// function waits for it, and writes profiles of memory and goroutines.
func (m *run) profileGateway(end time.Time) (finish func() error, err error) {
	if m.out == "" {
		return func() error { return nil }, nil
	}
	cpu := make(chan error, 1)
	go func() {
		cpu <- m.saveProfile("profile?seconds="+strconv.Itoa(int(time.Until(end).Seconds())), "cpu.pprof")
	}()
	return func() error {
		return errors.Join(<-cpu, m.saveProfile("allocs", "allocs.pprof"), m.saveProfile("heap?gc=1", "heap.pprof"), m.saveProfile("goroutine?debug=1", "goroutines.txt"))
	}, nil
}

func (m *run) saveProfile(path, name string) error {
	res, err := http.Get(m.profiles + path)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	f, err := os.Create(filepath.Join(m.out, fmt.Sprintf("%d-%s", m.n, name)))
	if err != nil {
		return err
	}
	_, err = io.Copy(f, res.Body)
	return errors.Join(err, f.Close())
}
