package notifier

import _ "github.com/stream-monitor/stream-monitor/adapters/notifier/slack"
