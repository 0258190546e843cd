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

// maxImportFile is the largest file that import reads, in bytes.
const maxImportFile = 64 << 20

// importMonitors registers the monitors of a file at a running gateway.
func importMonitors(ctx context.Context, c *config.Import, out console) error {
	file, err := readImportFile(c.File)
	if err != nil {
		return err
	}
	batches, err := importer.Divide(file)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	key, err := c.Key()
	if err != nil {
		return err
	}
	gateway := apiclient.New(c.URL, key, c.CAFile)
	return importer.Import(ctx, gateway, batches, c.DryRun, out.out, out.err)
}

// readImportFile reads a file, or the standard input for "-".
func readImportFile(name string) ([]byte, error) {
	from := io.Reader(os.Stdin)
	if name != "-" {
		f, err := os.Open(name) //nolint:gosec // the user names the file to read
		if err != nil {
			return nil, fmt.Errorf("import: %w", err)
		}
		defer func() { _ = f.Close() }()
		from = f
	}
	file, err := io.ReadAll(io.LimitReader(from, maxImportFile+1))
	if err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	if len(file) > maxImportFile {
		return nil, fmt.Errorf("%s is larger than %d bytes; divide it", name, maxImportFile)
	}
	return file, nil
}
