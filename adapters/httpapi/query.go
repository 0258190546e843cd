package httpapi

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/registry"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// readQuery reads the query of a request. It refuses unknown and repeated parameters,
// because a misspelt filter must not return everything.
func readQuery(c *gin.Context, known ...string) (url.Values, error) {
	query, err := url.ParseQuery(c.Request.URL.RawQuery)
	if err != nil {
		return nil, refusef(monitor.InvalidConfig, "the query is malformed")
	}
	for name, values := range query {
		if !slices.Contains(known, name) {
			return nil, refusef(monitor.InvalidConfig, "%.40q is not a parameter; accepted are %s", name, strings.Join(known, ", "))
		}
		if len(values) > 1 {
			return nil, refusef(monitor.InvalidConfig, "%s is given twice", name)
		}
	}
	return query, nil
}

// page reads limit and offset (section 3.4).
func page(query url.Values) (limit, offset int, err error) {
	limit, offset = registry.DefaultPage, 0
	for _, p := range []struct {
		name string
		into *int
	}{{"limit", &limit}, {"offset", &offset}} {
		if !query.Has(p.name) {
			continue
		}
		if *p.into, err = strconv.Atoi(query.Get(p.name)); err != nil {
			return 0, 0, refusef(monitor.InvalidConfig, "%s is %.40q; accepted is a whole number", p.name, query.Get(p.name))
		}
	}
	return limit, offset, nil
}

type paginationBody struct {
	Total  int `json:"total"`
	Limit  int `json:"limit"`
	Offset int `json:"offset"`
}
