package subprocesstest

import (
	_ "testing"

	_ "github.com/stream-monitor/stream-monitor/test/fake/webhookreceiver"
)
