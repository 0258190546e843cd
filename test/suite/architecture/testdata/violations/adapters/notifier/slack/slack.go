package slack

import (
	_ "github.com/stream-monitor/stream-monitor/adapters/notifier/discord"
	_ "github.com/wneessen/go-mail"
)
