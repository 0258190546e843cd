package httpapi

import (
	"net/url"
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/stream-monitor/stream-monitor/adapters/httpapi/ui"
)

// dashboardRoutes are the rows of the pages and of signing in. The pages need no key: they
// contain no data, and fetch it from the API.
func (a *API) dashboardRoutes() []route {
	page := func(c *gin.Context) error {
		a.cfg.Dashboard.ServeHTTP(c.Writer, c.Request)
		return nil
	}
	table := []route{
		{"POST", "/api/v1/session", noKey, "", "", special{}, a.signIn.begin},
		{"GET", "/api/v1/session", noKey, "", "", special{}, a.signIn.read},
		{"DELETE", "/api/v1/session", noKey, "", "", special{}, a.signIn.end},
	}
	for _, path := range slices.Concat(ui.Pages, []string{ui.AssetPath}, a.cfg.Dashboard.Files()) {
		handle := page
		if path == signInPath {
			handle = a.signIn.useLink(page)
		}
		table = append(table, route{"GET", path, noKey, "", "", special{}, handle}, route{"HEAD", path, noKey, "", "", special{}, handle})
	}
	return table
}

// NewSignInLink returns the path of a link that signs in to the dashboard once, within
// 10 minutes, at this gateway. The link before it ends. Without a dashboard it is "".
func (a *API) NewSignInLink() string {
	if a.signIn == nil {
		return ""
	}
	return a.signIn.link.renew(a.cfg.Now())
}

// Origin returns the scheme and host of a URL, or "" if it has none.
func Origin(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
