package httpapi

import (
	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/intake"
	"github.com/stream-monitor/stream-monitor/domain/cookie"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// workerHandlers answers the requests of workers (section 8.6).
type workerHandlers struct {
	*responder

	service *intake.WorkerService
}

// assignment is GET /internal/v1/monitors/{monitor_id} (decision O1).
func (h workerHandlers) assignment(c *gin.Context, id monitor.ID) error {
	query, err := readQuery(c, "generation")
	if err != nil {
		return err
	}
	generation, err := readGeneration(c, query)
	if err != nil {
		return err
	}
	assigned, err := h.service.Assignment(c.Request.Context(), id, generation)
	return h.reply(c, assigned, err)
}

// returnCookies is PUT /internal/v1/monitors/{monitor_id}/cookies (section 17.7).
func (h workerHandlers) returnCookies(c *gin.Context, id monitor.ID) error {
	query, err := readQuery(c, "generation")
	if err != nil {
		return err
	}
	generation, err := readGeneration(c, query)
	if err != nil {
		return err
	}
	raw, err := readJSON(c)
	if err != nil {
		return err
	}
	var use cookie.Use
	if err := decode(raw, &use); err != nil {
		return err
	}
	newest, err := h.service.ReturnCookies(c.Request.Context(), id, generation, use)
	return h.reply(c, newest, err)
}

// report is PUT /internal/v1/monitors/{monitor_id}/status (section 8.6).
func (h workerHandlers) report(c *gin.Context, id monitor.ID) error {
	raw, err := readJSON(c)
	if err != nil {
		return err
	}
	var report monitor.Report
	if err := decode(raw, &report); err != nil {
		return err
	}
	if err := checkGeneration(c, report.Generation); err != nil {
		return err
	}
	if string(report.Snapshot) == "null" {
		report.Snapshot = nil
	}
	answer, err := h.service.Report(c.Request.Context(), id, report)
	return h.reply(c, answer, err)
}
