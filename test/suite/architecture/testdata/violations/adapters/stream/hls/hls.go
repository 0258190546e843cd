package hls

import (
	_ "github.com/grafov/m3u8"
	_ "github.com/lib/pq"
	_ "github.com/stream-monitor/stream-monitor/adapters/internal/subprocess"
	_ "github.com/stream-monitor/stream-monitor/adapters/runtime/kube"
	_ "github.com/stream-monitor/stream-monitor/domain/watch"
	_ "net/http"
)
