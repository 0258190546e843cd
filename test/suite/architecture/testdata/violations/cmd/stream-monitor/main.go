package main

import (
	_ "github.com/alecthomas/kong"
	_ "github.com/stream-monitor/stream-monitor/adapters/runtime/kube"
	_ "github.com/stream-monitor/stream-monitor/adapters/stream/hls"
)
