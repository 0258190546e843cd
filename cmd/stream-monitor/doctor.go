package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/postgres"
	"github.com/stream-monitor/stream-monitor/adapters/stream/oembed"
	"github.com/stream-monitor/stream-monitor/adapters/stream/tool"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/doctor"
)

// runDoctor checks the machine and prints a report. Errors: a check has failed.
func runDoctor(ctx context.Context, c *config.Doctor, out console) error {
	c.Watching.Export() // the proxies, for the question to YouTube, and tool-launcher
	list, _, _ := c.Watching.Egress()
	ok, err := doctor.Doctor{
		Settings: *c, DatabaseTime: databaseTime, CheckCluster: checkCluster, CheckBucket: checkBucket,
		CheckLauncher: tool.CheckLauncher, Landlock: tool.Landlock, Missing: tool.Missing, OpenFiles: config.OpenFiles(), LookupHost: net.DefaultResolver.LookupHost, ProbeVideo: oembed.New(&http.Client{Transport: &http.Transport{Proxy: list.Proxy}}).Probe,
	}.Examine(ctx, out.out)
	if err == nil && !ok {
		err = errors.New("not everything is in order; see above")
	}
	return err
}

func checkCluster(ctx context.Context, f config.ClusterFlags) (namespace string, err error) {
	cluster, err := openCluster(f)
	if err != nil {
		return "", err
	}
	return cluster.Namespace(), cluster.Check(ctx)
}

func databaseTime(ctx context.Context, dsn string) (time.Time, error) {
	store, err := postgres.Open(ctx, dsn, postgres.Config{})
	if err != nil {
		return time.Time{}, err
	}
	at, err := store.CurrentTime(ctx)
	return at, errors.Join(err, store.Close())
}
