package migrations

import (
	_ "embed"
	_ "github.com/stream-monitor/stream-monitor/adapters/stream/hls"
)
