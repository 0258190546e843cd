package main

import (
	"context"
	"errors"
	"os"

	"github.com/stream-monitor/stream-monitor/adapters/apiclient"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/applier"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
)

// applyFile makes what a file has at a running gateway (section 19.8). A
// wrong file is a wrong configuration.
func applyFile(ctx context.Context, c *config.Apply, out console) error {
	raw, err := readFile(c.File)
	if err != nil {
		return err
	}
	file, err := applier.Read(raw, os.LookupEnv)
	var key string
	if err == nil {
		key, err = c.Gateway.Key()
	}
	if err == nil {
		gateway := apiclient.New(c.Gateway.URL, key, c.Gateway.CAFile)
		err = applier.Apply(ctx, gateway, file, applier.Options{DryRun: c.DryRun, Prune: c.Prune, Adopt: c.Adopt, Yes: c.Yes}, out.out, out.err)
	}
	if problems, is := errors.AsType[applier.Problems](err); is {
		return &config.UsageError{Problems: problems}
	}
	return err
}
