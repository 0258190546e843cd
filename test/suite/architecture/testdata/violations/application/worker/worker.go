package worker

import (
	_ "github.com/stream-monitor/stream-monitor/adapters/stream/hls"
	_ "github.com/stream-monitor/stream-monitor/domain/watch"
)
