package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/logging"
	"github.com/stream-monitor/stream-monitor/adapters/runtime/kube"
)

// open is the cluster that these settings mean. It asks nobody.
func (f ClusterFlags) open() (*kube.Cluster, error) {
	cluster, err := kube.Open("")
	if err != nil {
		return nil, err
	}
	return cluster.In(f.WorkerNamespace), nil
}

// Run ends what runs in the cluster: the gateway first, then the workers.
func (c *UninstallCmd) Run(ctx context.Context, out console) error {
	log, err := logging.New(out.err, c.Log.LogLevel, time.Local)
	if err != nil {
		return err
	}
	own := log.With("component", "uninstall")
	return logged(own, c.uninstall(ctx, own))
}

func (c *UninstallCmd) uninstall(ctx context.Context, log *slog.Logger) error {
	cluster, err := c.Cluster.open()
	if err != nil {
		return err
	}
	return kube.Uninstall(ctx, cluster, kube.Installation{Deployment: c.Deployment, Instance: c.Cluster.WorkerInstance, Log: log})
}
