package main

import (
	_ "github.com/alecthomas/kong"
	_ "github.com/stream-monitor/stream-monitor/adapters/hls"
	_ "github.com/stream-monitor/stream-monitor/adapters/kube"
)
