package monitors

import (
	_ "context"
	_ "github.com/stream-monitor/stream-monitor/domain/event"
	_ "net/http"
)
