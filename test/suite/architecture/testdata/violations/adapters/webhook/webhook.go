package webhook

import _ "github.com/stream-monitor/stream-monitor/adapters/notifier"
