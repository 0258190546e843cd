package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/inline"
	"github.com/stream-monitor/stream-monitor/adapters/runtime/kube"
	"github.com/stream-monitor/stream-monitor/adapters/runtime/process"
	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// launcher is a launcher with an end.
type launcher interface {
	supervisor.Launcher
	Close(ctx context.Context) error
}

// runtime is what runs the workers (WORKER_RUNTIME), which can only be made when
// it is known where they find the gateway.
type runtime struct{ launcher }

func (c *ServeCmd) launcher(g *service, to *registry.Service, keys Keys, output io.Writer, log *slog.Logger) (launcher, error) {
	switch c.WorkerRuntime {
	case runtimeInline:
		return inline.New(inline.Config{RunDir: c.runDir(), RunWorker: c.work(to, log), Log: log})
	case runtimeKubernetes:
		return c.pods(log)
	}
	here, err := c.workersURL(g.internal.Addr())
	if err != nil {
		return nil, err
	}
	return process.New(process.Config{
		GatewayURL: here, GatewayCA: c.TLSCertFile, InternalKey: keys.Internal, LogLevel: c.Log.LogLevel,
		Environ: append(os.Environ(), c.Watching.variables()...), RunDir: c.runDir(), GatewayPatience: c.GatewayPatience,
		Output: output, Log: log,
	})
}

// missing is what becomes of a monitor whose worker was lost (decision O3).
func (c *ServeCmd) missing() supervisor.MissingWorkerPolicy {
	switch {
	case c.MissingWorker != "":
		return supervisor.MissingWorkerPolicy(c.MissingWorker)
	case c.WorkerRuntime == runtimeKubernetes:
		return supervisor.EndMonitor
	}
	return supervisor.Relaunch
}

// launches is how many may be under way at once. To launch a process takes this
// machine's CPU; to launch a pod may be waiting for its predecessor's node.
func (c *ServeCmd) launches() int {
	if c.WorkerRuntime == runtimeKubernetes {
		return 32
	}
	return 0 // the default
}

// pods runs a worker in each of them.
func (c *ServeCmd) pods(log *slog.Logger) (launcher, error) {
	cluster, err := c.Cluster.open()
	if err != nil {
		return nil, err
	}
	return kube.New(cluster, kube.Config{
		Instance: c.Cluster.WorkerInstance, Image: c.Pods.WorkerImage, GatewayURL: c.Pods.WorkerGatewayURL,
		Secret: c.Pods.WorkerSecret, CASecret: c.Pods.WorkerCASecret, Template: c.Pods.WorkerPodTemplate,
		LogLevel: c.Log.LogLevel, Environ: c.Watching.settings(), Log: log,
	})
}

// runDir is where the gateway writes down which workers it runs.
func (c *ServeCmd) runDir() string { return filepath.Join(c.Database.DataDir, "run") }

// work is a worker in the gateway's own process, which reports without a detour.
func (c *ServeCmd) work(to *registry.Service, log *slog.Logger) inline.WorkerFunc {
	return func(ctx, force context.Context, j supervisor.WorkerSpec) error {
		err := worker.New(c.Watching.ports(desk{to}, log), worker.Config{
			ID:         j.ID,
			Generation: j.Generation,
			Prefer:     watch.RenditionPreference(c.Watching.StreamRendition),
			NewEventID: newEventID,
			Log:        log,
			Now:        tamper(parts{Now: time.Now}).Now,
		}).RunUntil(ctx, force)
		return dismissed(log.With("component", "worker", "monitor_id", string(j.ID)), err)
	}
}

// desk is the gateway as its own workers see it: no network in between.
type desk struct{ *registry.Service }

var _ worker.Gateway = desk{}

// Assignment implements worker.Gateway.
func (d desk) Assignment(ctx context.Context, id monitor.ID, generation int) (monitor.Assignment, error) {
	return d.Assign(ctx, id, generation)
}
