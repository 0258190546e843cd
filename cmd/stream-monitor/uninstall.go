package main

import (
	"context"
	"log/slog"

	"github.com/stream-monitor/stream-monitor/adapters/logging"
	"github.com/stream-monitor/stream-monitor/adapters/runtime/kube"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
)

// uninstall removes what runs in the cluster: the gateway first, then the workers.
func uninstall(ctx context.Context, c *config.Uninstall, out console) error {
	log, err := newLog(logging.New, out.err, c.Log.LogLevel)
	if err != nil {
		return err
	}
	log = log.With("component", "uninstall")
	return logged(log, removeInstallation(ctx, c, log))
}

func removeInstallation(ctx context.Context, c *config.Uninstall, log *slog.Logger) error {
	cluster, err := openCluster(c.Cluster)
	if err != nil {
		return err
	}
	return kube.Uninstall(ctx, cluster, kube.Installation{Deployment: c.Deployment, Namespace: c.Namespace, Instance: c.Cluster.WorkerInstance, Log: log})
}
