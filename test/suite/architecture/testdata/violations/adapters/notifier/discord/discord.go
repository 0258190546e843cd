package discord

import _ "github.com/stream-monitor/stream-monitor/adapters/notifier" // allowed: the channels share it
