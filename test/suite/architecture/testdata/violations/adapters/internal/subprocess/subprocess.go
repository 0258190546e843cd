package subprocess

import (
	_ "github.com/stream-monitor/stream-monitor/application/registry"
	_ "os/exec"
)
