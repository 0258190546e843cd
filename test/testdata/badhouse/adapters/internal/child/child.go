package child

import (
	_ "github.com/stream-monitor/stream-monitor/application/control"
	_ "os/exec"
)
