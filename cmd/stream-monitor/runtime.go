package main

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/runtime/inline"
	"github.com/stream-monitor/stream-monitor/adapters/runtime/kube"
	"github.com/stream-monitor/stream-monitor/adapters/runtime/process"
	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/application/worker"
	"github.com/stream-monitor/stream-monitor/application/worker/collector"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/config"
	"github.com/stream-monitor/stream-monitor/cmd/stream-monitor/internal/faultinject"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// launcher is a supervisor.Launcher that can be closed.
type launcher interface {
	supervisor.Launcher
	Close(ctx context.Context) error
}

// lateLauncher is a launcher that is set later. Workers need the address of the internal
// API, which is known when the gateway listens.
type lateLauncher struct{ launcher }

// newLauncher makes what starts workers. output gets the output of worker processes.
func (a *assembly) newLauncher(output io.Writer) (launcher, error) {
	c := a.settings
	a.inlineDelays = worker.NewCheckDelays(a.log)
	idFile := filepath.Join(c.Database.DataDir, "runtime-id")
	switch c.WorkerRuntime {
	case config.RuntimeInline:
		tools := newWatchingTools(c.Watching, a.decoders, a.resolving)
		return inline.New(inline.Config{IDFile: idFile, RunWorker: a.inlineWorker(tools), Log: a.log})
	case config.RuntimeKubernetes:
		return newPodLauncher(c, monitor.NewTokenKey(a.keys.Internal), a.log)
	}
	url, err := c.WorkersURL(a.internal.Addr())
	if err != nil {
		return nil, err
	}
	workers := processWorkers(c, monitor.NewTokenKey(a.keys.Internal), url)
	workers.IDFile, workers.Output, workers.Log = idFile, output, a.log
	return process.New(workers)
}

// processWorkers says what worker processes get from the gateway.
func processWorkers(c *config.Serve, tokens monitor.TokenKey, url string) process.Config {
	return process.Config{
		GatewayURL: url, GatewayCA: c.TLSCertFile, Tokens: tokens, LogLevel: c.Log.LogLevel,
		Environ: append(c.Watching.Environ(), faultinject.Environ()...),
	}
}

// maxConcurrentLaunches limits how many workers are launched at once; 0 means the default
// of supervisor.Config. The start of a process needs CPU of this machine. The launch of a pod
// mostly waits for the cluster.
func maxConcurrentLaunches(c *config.Serve) int {
	if c.WorkerRuntime == config.RuntimeKubernetes {
		return 32
	}
	return 0
}

func newPodLauncher(c *config.Serve, tokens monitor.TokenKey, log *slog.Logger) (launcher, error) {
	cluster, err := openCluster(c.Cluster)
	if err != nil {
		return nil, err
	}
	return kube.New(cluster, kube.Config{
		Instance: c.Cluster.WorkerInstance, Image: c.Pods.WorkerImage, GatewayURL: c.Pods.WorkerGatewayURL,
		Tokens: tokens, Secret: c.Pods.WorkerSecret, CASecret: c.Pods.WorkerCASecret, PodTemplateFile: c.Pods.WorkerPodTemplate,
		LogLevel: c.Log.LogLevel, Environ: c.Watching.Environ(), Log: log,
	})
}

// openCluster selects the cluster and namespace of these settings. It makes no
// request.
func openCluster(f config.ClusterFlags) (*kube.Cluster, error) {
	cluster, err := kube.Open("")
	if err != nil {
		return nil, err
	}
	return cluster.WithNamespace(f.WorkerNamespace), nil
}

// inlineWorker runs a worker as a goroutine of the gateway.
func (a *assembly) inlineWorker(tools *watchingTools) inline.WorkerFunc {
	return func(ctx, force context.Context, spec supervisor.WorkerSpec) error {
		err := worker.New(tools.ports(a.workers, inlineEvidence{a.evidence}, a.thumbnails, spec.ID, a.log), worker.Config{
			ID:           spec.ID,
			Generation:   spec.Generation,
			Preference:   watch.RenditionPreference(a.settings.Watching.StreamRendition),
			NewEventID:   newEventID,
			SpreadChecks: true,
			Delays:       a.inlineDelays,
			Log:          a.log,
			Now:          faultinject.Wrap(faultinject.Ports{Now: time.Now}).Now,
		}).RunUntil(ctx, force)
		return ignoreReplaced(a.log.With("component", "worker", "monitor_id", string(spec.ID)), err)
	}
}

// inlineEvidence gives inline workers direct access to the gateway's evidence.
type inlineEvidence struct{ *evidences.Service }

var _ collector.Store = inlineEvidence{}

// AddEvidence implements collector.Store.
func (e inlineEvidence) AddEvidence(ctx context.Context, u evidence.Upload, body io.Reader) error {
	_, err := e.Add(ctx, u, body)
	return err
}
