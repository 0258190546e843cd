package kube

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/stream-monitor/stream-monitor/application/supervisor"
)

// Launch makes a pod. A worker of the same monitor and an older generation is
// ended first, which may take 5 s, or Config.Grace if that is less, and a few more
// when its node is gone. One of the same generation that is there already is left
// as it is, even if it is being deleted: its end will be told. Errors: ErrClosed;
// ctx's; a newer generation is there, or a pod of that name that is none of ours;
// or what the API server has against it.
func (l *Launcher) Launch(ctx context.Context, j supervisor.WorkerSpec) error {
	wanted, err := pod(l.mold, l.pods.namespace, j, l.cfg.Instance)
	if err != nil {
		return fmt.Errorf("launch %s: %w", j.ID, err)
	}
	for {
		over, err := l.launch(ctx, j, wanted)
		if err == nil {
			err = ctx.Err()
		}
		switch {
		case over:
			return nil
		case err != nil:
			return fmt.Errorf("launch %s: %w", j.ID, err)
		}
	}
}

// launch makes the pod, or, if there is one of that name, removes what has to go
// first. It looks before it asks: where a quota is used up, nothing can be made,
// and what is there need not be.
func (l *Launcher) launch(ctx context.Context, j supervisor.WorkerSpec, wanted *corev1.Pod) (over bool, err error) {
	if l.isClosed() {
		return false, ErrClosed
	}
	there, err := l.pods.get(ctx, wanted.Name)
	if err != nil {
		return false, err
	}
	if there == nil {
		made, err := l.pods.create(ctx, wanted)
		if err != nil || made == nil {
			return false, err
		}
		l.ledger.see(made, false)
		l.log.Info("worker started", "monitor_id", string(j.ID), "generation", j.Generation, "pod", made.Name)
		return true, nil
	}
	w, ours := identify(there, l.cfg.Instance)
	if !ours {
		return false, fmt.Errorf("%s is none of this installation (%s=%s, %s=%s)", title(l.pods.namespace, there.Name),
			labelApp, appName, labelInstance, l.cfg.Instance)
	}
	l.ledger.see(there, false)
	switch {
	case w.Generation > j.Generation:
		return false, fmt.Errorf("generation %d is there, %d is older", w.Generation, j.Generation)
	case w.Generation == j.Generation && !l.ledger.over(there):
		return true, nil
	}
	return false, l.end(ctx, w, min(handover, l.cfg.Grace), func() {})
}
