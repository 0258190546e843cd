package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/stream-monitor/stream-monitor/adapters/apiclient"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/importer"
)

// maxFile is the largest file that import and apply read, in bytes.
const maxFile = 64 << 20

// importMonitors registers the monitors or channels of a file at a running gateway.
func importMonitors(ctx context.Context, c *config.Import, out console) error {
	file, err := readFile(c.File)
	if err != nil {
		return err
	}
	batches, err := importer.Divide(file, importer.Charset(c.Charset))
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	key, err := c.Gateway.Key()
	if err != nil {
		return err
	}
	gateway := apiclient.New(c.Gateway.URL, key, c.Gateway.CAFile)
	return importer.Import(ctx, gateway, batches, apiclient.BatchOptions{DryRun: c.DryRun, Update: c.Update}, out.out, out.err)
}

// readFile reads a file, or the standard input for "-".
func readFile(name string) ([]byte, error) {
	from := io.Reader(os.Stdin)
	if name != "-" {
		f, err := os.Open(name) //nolint:gosec // the user names the file to read
		if err != nil {
			return nil, fmt.Errorf("read the file: %w", err)
		}
		defer func() { _ = f.Close() }()
		from = f
	}
	file, err := io.ReadAll(io.LimitReader(from, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	if len(file) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d bytes; divide it", name, maxFile)
	}
	return file, nil
}
