package sink

import (
	_ "github.com/lib/pq"
	_ "github.com/stream-monitor/stream-monitor/adapters/hls"
	_ "net/http"
)
