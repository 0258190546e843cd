package hls

import (
	_ "github.com/grafov/m3u8"
	_ "github.com/lib/pq"
	_ "github.com/stream-monitor/stream-monitor/adapters/internal/child"
	_ "github.com/stream-monitor/stream-monitor/adapters/kube"
	_ "github.com/stream-monitor/stream-monitor/domain/watch"
	_ "net/http"
)
