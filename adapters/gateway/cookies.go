package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/stream-monitor/stream-monitor/domain/cookie"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// ReturnCookies implements worker.Gateway.
func (c *Client) ReturnCookies(ctx context.Context, id monitor.ID, generation int, u cookie.Use) (cookie.Jar, error) {
	body, err := json.Marshal(u)
	if err != nil {
		return cookie.Jar{}, fmt.Errorf("return cookies to the gateway: %w", err)
	}
	path := "/internal/v1/monitors/" + url.PathEscape(string(id)) + "/cookies?generation=" + strconv.Itoa(generation)
	var newest cookie.Jar
	if err := c.exchange(ctx, http.MethodPut, path, body, &newest); err != nil {
		return cookie.Jar{}, fmt.Errorf("return cookies to the gateway: %w", err)
	}
	return newest, nil
}
