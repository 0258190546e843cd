package main

import (
	"context"

	"github.com/stream-monitor/stream-monitor/adapters/apiclient"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/applier"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
)

// exportFile prints the file of what a running gateway has (section 19.8).
func exportFile(ctx context.Context, c *config.Export, out console) error {
	key, err := c.Gateway.Key()
	if err != nil {
		return err
	}
	return applier.Export(ctx, apiclient.New(c.Gateway.URL, key, c.Gateway.CAFile), c.Owner, out.out, out.err)
}
