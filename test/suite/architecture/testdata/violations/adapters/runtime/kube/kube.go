package kube

import (
	_ "github.com/stream-monitor/stream-monitor/adapters/internal/subprocess/subprocesstest"
	_ "github.com/stream-monitor/stream-monitor/application/monitors"
	_ "github.com/stream-monitor/stream-monitor/cmd/stream-monitor"
	_ "github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
	_ "k8s.io/client-go/kubernetes"
)
