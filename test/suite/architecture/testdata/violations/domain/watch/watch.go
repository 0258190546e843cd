package watch

import (
	_ "context"
	_ "github.com/stream-monitor/stream-monitor/application/monitors"
	_ "github.com/stream-monitor/stream-monitor/domain/monitor"
	_ "strings"
)
