package kube

import (
	_ "github.com/stream-monitor/stream-monitor/adapters/internal/child/childtest"
	_ "github.com/stream-monitor/stream-monitor/application/control"
	_ "github.com/stream-monitor/stream-monitor/cmd/stream-monitor"
	_ "github.com/stream-monitor/stream-monitor/test/sink"
	_ "k8s.io/client-go/kubernetes"
)
