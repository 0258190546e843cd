package watch

import (
	_ "context"
	_ "github.com/stream-monitor/stream-monitor/application/registry"
	_ "github.com/stream-monitor/stream-monitor/domain/monitor"
	_ "strings"
)
