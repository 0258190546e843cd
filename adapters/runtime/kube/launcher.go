package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/stream-monitor/stream-monitor/adapters/internal/exitqueue"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// ErrClosed is the error of Launch and Stop after Close.
var ErrClosed = errors.New("the launcher is closed")

// Launcher runs workers as pods. It implements supervisor.Launcher.
type Launcher struct {
	cfg         Config
	log         *slog.Logger
	pods        podClient
	podTemplate *corev1.PodTemplateSpec // of all worker pods
	cache       *podCache
	exits       *exitqueue.Queue[supervisor.Exit]

	ctx        context.Context // done at Close
	cancel     context.CancelFunc
	goroutines sync.WaitGroup // the informer, stops, and deletions of ended pods

	// Close waits for stops whose deletion the API server has not accepted yet.
	unsentStops     sync.WaitGroup
	unsentStopCount atomic.Int64

	mu       sync.Mutex
	closed   bool
	deleting map[types.UID]bool // ended pods whose deletion is in progress
}

var _ supervisor.Launcher = (*Launcher)(nil)

// New returns a launcher of pods in a cluster's namespace and starts to watch them. It
// blocks until it has listed them, for at most 5 s if the API server does not answer.
// The caller must Close it. Errors: cfg is not valid; the pod template cannot be
// read or merged, or has a request above its limit.
func New(c *Cluster, cfg Config) (*Launcher, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	redirectKlog(cfg.Log)
	template, err := cfg.podTemplate()
	if err != nil {
		return nil, err
	}
	l := &Launcher{
		cfg:         cfg,
		log:         cfg.Log.With("component", "kube"),
		pods:        podClient{c, cfg.Instance},
		podTemplate: template,
		exits:       exitqueue.New[supervisor.Exit](),
		deleting:    map[types.UID]bool{},
	}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.cache = newPodCache(cfg.Instance, l.exits, l.deleteEnded, l.log)
	informer, err := l.pods.newInformer(l.cache)
	if err != nil {
		return nil, fmt.Errorf("kube: %w", err)
	}
	l.goroutines.Go(func() { informer.RunWithContext(klog.NewContext(l.ctx, logr.FromSlogHandler(l.log.Handler()))) })
	select {
	case <-l.cache.synced:
	case <-time.After(initialSyncTimeout):
		l.log.Warn("the API server does not answer, the gateway starts without the list of running workers")
	}
	return l, nil
}

// Runtime identifies this installation's pods. All its gateways share them.
func (l *Launcher) Runtime() supervisor.Runtime {
	return supervisor.Runtime{
		ID:              runtimeID(l.pods.namespace, l.cfg.Instance),
		Shared:          true,
		NotFoundMessage: "Pod not found in Kubernetes cluster",
	}
}

// Workers lists the pods whose workers have not ended, as the watch knows them; it makes no
// request. Pods that have not started and pods that are terminating are included. A watch that
// is behind lacks the newest pods: see Runs. Errors: the API server has not
// listed the pods yet, or it refuses or does not answer the watch.
func (l *Launcher) Workers(context.Context) ([]supervisor.Worker, error) {
	workers, err := l.cache.workers(time.Now(), l.cfg.refuses)
	if err != nil {
		return nil, fmt.Errorf("kube: the worker pods cannot be watched: %w", err)
	}
	return workers, nil
}

// Runs reads the pod of a monitor's worker from the API server.
func (l *Launcher) Runs(ctx context.Context, id monitor.ID, generation int) (bool, error) {
	found, err := l.pods.get(ctx, id.WorkerName())
	if err != nil || found == nil {
		return false, err
	}
	p, owned := parseWorkerPod(found, l.cfg.Instance)
	return owned && p.Generation >= generation && !l.cache.hasEnded(found), nil
}

// Launch creates a pod. It first deletes a worker of an older generation, with a
// grace period of 5 s or Config.Grace, whichever is less. On a dead node the deletion takes
// 5 s more. Launch leaves a pod of the same generation as it is, even if it is
// terminating: Exits reports its end.
//
// Errors: ErrClosed; ctx's; a newer generation exists; a pod of something else has the
// name; the API server refuses the pod.
func (l *Launcher) Launch(ctx context.Context, spec supervisor.WorkerSpec) error {
	pod, err := l.cfg.newPod(l.podTemplate, l.pods.namespace, spec)
	if err != nil {
		return fmt.Errorf("launch %s: %w", spec.ID, err)
	}
	for {
		launched, err := l.tryLaunch(ctx, spec, pod)
		if err == nil {
			err = ctx.Err()
		}
		switch {
		case launched:
			return nil
		case err != nil:
			return fmt.Errorf("launch %s: %w", spec.ID, err)
		}
	}
}

// tryLaunch creates the pod, or removes an older pod of that name. If it returns neither
// launched nor an error, the caller calls it again. It reads before it creates: with an
// exhausted quota a creation fails even if the pod exists.
func (l *Launcher) tryLaunch(ctx context.Context, spec supervisor.WorkerSpec, pod *corev1.Pod) (launched bool, err error) {
	if l.isClosed() {
		return false, ErrClosed
	}
	found, err := l.pods.get(ctx, pod.Name)
	if err != nil {
		return false, err
	}
	if found == nil {
		created, err := l.pods.create(ctx, pod)
		if err != nil || created == nil {
			return false, err
		}
		l.log.Info("worker started", "monitor_id", string(spec.ID), "generation", spec.Generation, "pod", created.Name)
		return true, nil
	}
	existing, owned := parseWorkerPod(found, l.cfg.Instance)
	if !owned {
		return false, fmt.Errorf("%s is not a worker of this installation (its labels differ from %s=%s, %s=%s): rename or delete it",
			podTitle(l.pods.namespace, found.Name), labelApp, appName, labelInstance, l.cfg.Instance)
	}
	switch {
	case existing.Generation > spec.Generation:
		return false, fmt.Errorf("a pod of the newer generation %d exists, %d is outdated", existing.Generation, spec.Generation)
	case existing.Generation == spec.Generation && !l.cache.hasEnded(found):
		return true, nil
	}
	return false, l.terminate(ctx, existing, min(supersedeGrace, l.cfg.Grace), func() {})
}

// Exits delivers the end of every worker, whichever gateway launched or stopped it. It
// includes a worker that ended while no gateway ran, if its pod still exists. Unread exits
// wait without limit. Close drops those that are not read within 250 ms.
func (l *Launcher) Exits() <-chan supervisor.Exit { return l.exits.Out() }

// Close stops watching and does not end the pods. It waits until the API server has
// accepted the deletion of every Stop, or ctx is done. When it returns, no goroutine is
// left. Errors: ctx was done before a deletion was accepted.
func (l *Launcher) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	sent := make(chan struct{})
	go func() { l.unsentStops.Wait(); close(sent) }()
	var err error
	select {
	case <-sent:
	case <-ctx.Done():
		if n := l.unsentStopCount.Load(); n > 0 {
			err = fmt.Errorf("close launcher: %d workers were not asked to stop: %w", n, ctx.Err())
		}
	}
	l.cancel()
	l.goroutines.Wait()
	<-sent
	l.exits.Close()
	return err
}

func (l *Launcher) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}
