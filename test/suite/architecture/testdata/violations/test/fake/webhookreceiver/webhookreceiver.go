package webhookreceiver

import (
	_ "github.com/lib/pq"
	_ "github.com/stream-monitor/stream-monitor/adapters/stream/hls"
	_ "net/http"
)
