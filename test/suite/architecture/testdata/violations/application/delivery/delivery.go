package delivery

import (
	_ "github.com/gin-gonic/gin"
	_ "github.com/sony/gobreaker/v2"
	_ "github.com/stream-monitor/stream-monitor/application/monitors"
)
