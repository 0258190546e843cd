package childtest

import (
	_ "testing"

	_ "github.com/stream-monitor/stream-monitor/test/sink"
)
