package subprocess

import (
	_ "github.com/stream-monitor/stream-monitor/application/monitors"
	_ "os/exec"
)
