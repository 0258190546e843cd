package fallback

import (
	_ "github.com/sony/gobreaker/v2"
	_ "github.com/stream-monitor/stream-monitor/adapters/stream/hls"
)
