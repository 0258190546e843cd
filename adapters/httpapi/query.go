package httpapi

import (
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/application/monitors"
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
		if len(values) > 1 && name != labelParameter {
			return nil, refusef(monitor.InvalidConfig, "%s is given twice", name)
		}
	}
	return query, nil
}

// readInt reads a whole number, or returns absent if the parameter is left out.
func readInt(query url.Values, name string, absent int) (int, error) {
	if !query.Has(name) {
		return absent, nil
	}
	n, err := strconv.Atoi(query.Get(name))
	if err != nil {
		return 0, refusef(monitor.InvalidConfig, "%s is %.40q; accepted is a whole number", name, query.Get(name))
	}
	return n, nil
}

// readBool reads true or false, or returns absent if the parameter is left out.
func readBool(query url.Values, name string, absent bool) (bool, error) {
	switch given := query.Get(name); {
	case !query.Has(name):
		return absent, nil
	case given == "true", given == "false":
		return given == "true", nil
	default:
		return false, refusef(monitor.InvalidConfig, "%s is %.40q; accepted are true and false", name, given)
	}
}

// flag is a parameter that is true, or false or absent, and where its value goes.
type flag struct {
	name string
	into *bool
}

// readFlags reads flags. Of several that are wrong it names the first.
func readFlags(query url.Values, all ...flag) (err error) {
	for _, f := range all {
		if *f.into, err = readBool(query, f.name, false); err != nil {
			return err
		}
	}
	return nil
}

// readDryRun reads dry_run, the only parameter of a request.
func readDryRun(c *gin.Context) (bool, error) {
	query, err := readQuery(c, "dry_run")
	if err != nil {
		return false, err
	}
	return readBool(query, "dry_run", false)
}

// readGeneration reads the generation of the worker that sends the request.
func readGeneration(c *gin.Context, query url.Values) (int, error) {
	generation, err := strconv.Atoi(query.Get("generation"))
	if err != nil || generation < 1 || generation > math.MaxInt32 {
		return 0, refusef(monitor.InvalidConfig, "generation is %.40q; accepted is a whole number from 1", query.Get("generation"))
	}
	return generation, checkGeneration(c, generation)
}

// readTakenAt reads when the content of an upload was taken.
func readTakenAt(query url.Values) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, query.Get("taken_at"))
	if err != nil {
		return at, refusef(monitor.InvalidConfig, "taken_at is %.60q; accepted is an RFC 3339 time", query.Get("taken_at"))
	}
	return at, nil
}

// page reads limit and offset (section 3.4).
func page(query url.Values) (limit, offset int, err error) {
	if limit, err = readInt(query, "limit", monitors.DefaultPage); err != nil {
		return 0, 0, err
	}
	offset, err = readInt(query, "offset", 0)
	return limit, offset, err
}

type paginationBody struct {
	Total  int `json:"total"`
	Limit  int `json:"limit"`
	Offset int `json:"offset"`
}
