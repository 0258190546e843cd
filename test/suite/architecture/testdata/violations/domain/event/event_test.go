package event_test

import (
	_ "github.com/stream-monitor/stream-monitor/adapters/runtime/kube"
	_ "github.com/stream-monitor/stream-monitor/domain/event"
	_ "testing"
)
