package kube

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/stream-monitor/stream-monitor/adapters/internal/exitqueue"
	"github.com/stream-monitor/stream-monitor/application/supervisor"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// ErrClosed answers a Launch or a Stop after Close.
var ErrClosed = errors.New("the launcher is closed")

// Launcher runs workers as pods; it is a supervisor.Launcher.
type Launcher struct {
	cfg    Config
	log    *slog.Logger
	pods   pods
	mold   *corev1.PodTemplateSpec // of all worker pods
	ledger *ledger
	exits  *exitqueue.Queue[supervisor.Exit]

	alive  context.Context // until Close
	cancel context.CancelFunc
	owned  sync.WaitGroup // the watch, stops, and deletions of what has ended
	asking sync.WaitGroup // stops that the API server has not heard of

	unheard atomic.Int64 // how many those are

	mu       sync.Mutex
	closed   bool
	clearing map[types.UID]bool // pods that have ended and are being deleted
}

var _ supervisor.Launcher = (*Launcher)(nil)

// New makes a launcher of pods in a namespace of a cluster and begins to watch
// them. It blocks until it knows which there are, 5 s at most: the API server may
// be away. Whoever made it must Close it.
// Errors: a required value of cfg is missing, or one is out of its range; the pod
// template cannot be read or merged, or requests more than a limit.
func New(c *Cluster, cfg Config) (*Launcher, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	keepKlog(cfg.Log)
	mold, err := cfg.template()
	if err != nil {
		return nil, err
	}
	l := &Launcher{
		cfg:      cfg,
		log:      cfg.Log.With("component", "kube"),
		pods:     pods{c, cfg.Instance},
		mold:     mold,
		exits:    exitqueue.New[supervisor.Exit](),
		clearing: map[types.UID]bool{},
	}
	l.alive, l.cancel = context.WithCancel(context.Background())
	l.ledger = newLedger(cfg.Instance, l.exits, l.clear, l.log)
	l.owned.Go(func() { l.watch(l.alive) })
	select {
	case <-l.ledger.opened:
	case <-time.After(firstLook):
		l.log.Warn("the cluster does not answer; the gateway starts without knowing which workers there are")
	}
	return l, nil
}

// Runtime is the installation's pods in its namespace, for all its gateways.
func (l *Launcher) Runtime() supervisor.Runtime {
	return supervisor.Runtime{
		ID:              placeID(l.pods.namespace, l.cfg.Instance),
		Shared:          true,
		NotFoundMessage: "Pod not found in Kubernetes cluster",
	}
}

// Workers asks the API server for the pods whose workers run: those that are
// still to start, and those that are being deleted but have not ended, included.
func (l *Launcher) Workers(ctx context.Context) ([]supervisor.Worker, error) {
	asked := time.Now()
	list, err := l.pods.list(ctx)
	if err != nil {
		return nil, fmt.Errorf("kube: %w", err)
	}
	l.ledger.compare(list, asked)
	var all []supervisor.Worker
	for i := range list {
		w, ours := identify(&list[i], l.cfg.Instance)
		if !ours || l.ledger.over(&list[i]) {
			continue
		}
		w.Pending, w.PendingReason = startless(&list[i]), hindrance(&list[i], time.Now())
		all = append(all, w.Worker)
	}
	return all, nil
}

// Stop ends a monitor's worker: the pod is deleted, with Config.Grace, and by
// force some seconds after that. It returns when the pod is gone. When ctx is done
// earlier it returns ctx's error, and the stopping goes on. Errors: those two,
// ErrClosed, or the API server could not be asked.
func (l *Launcher) Stop(ctx context.Context, id monitor.ID) error {
	var err error
	select {
	case err = <-l.beginStop(id):
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("stop %s: %w", id, err)
	}
	return nil
}

// Exits delivers every end of a worker, whichever gateway launched it and
// whichever ended it, and those that ended while no gateway ran and whose pods
// are still there. None is lost while nobody reads; at Close, what nobody has then
// read within a quarter of a second is.
func (l *Launcher) Exits() <-chan supervisor.Exit { return l.exits.Out() }

// Close ends the watching, and leaves the pods alone. Stops that the API server
// has not heard of are waited for until ctx is done. It returns when no goroutine
// is left. Errors: such a stop was given up.
func (l *Launcher) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	heard := make(chan struct{})
	go func() { l.asking.Wait(); close(heard) }()
	var err error
	select {
	case <-heard:
	case <-ctx.Done():
		if n := l.unheard.Load(); n > 0 {
			err = fmt.Errorf("close launcher: %d workers were not asked to stop: %w", n, ctx.Err())
		}
	}
	l.cancel()
	l.owned.Wait()
	<-heard
	l.exits.Close()
	return err
}
